/** Characters that mean something in a path or a header, and what is no text. */
const UNWANTED = /["'/\\]|\p{Cc}|\p{Surrogate}/gu;

/**
 * `Content-Disposition` that makes browsers keep a file under a name of the viewer's choice; names beyond ASCII as RFC 6266
 * has them. `fileName` stands in for a name of which nothing is left, and its extension is added where it is missing.
 */
export const contentDisposition = (wanted: string, fileName: string): string => {
  const extension = fileName.slice(fileName.lastIndexOf('.'));
  const clean = wanted
    .replaceAll(UNWANTED, '')
    .replace(/^[. ]+/, '')
    .trimEnd();
  const name = clean === '' ? fileName : clean.toLowerCase().endsWith(extension) ? clean : `${clean}${extension}`;
  const ascii = name.replaceAll(/[^\x20-\x7e]/gu, '_');
  if (ascii === name) return `attachment; filename="${name}"`;
  const encoded = encodeURIComponent(name).replaceAll(/[!()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
};

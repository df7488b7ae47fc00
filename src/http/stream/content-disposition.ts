/** Characters with a meaning in paths or headers, and those that are not text. */
const UNWANTED = /["'/\\]|\p{Cc}|\p{Surrogate}/gu;

/**
 * A `Content-Disposition` with which browsers save a file under the viewer's chosen name; names
 * beyond ASCII are encoded as in RFC 6266. `fileName` is used if nothing remains of the name, and
 * its extension is added if missing.
 */
export const contentDisposition = (type: string, fileName: string): string => {
  const extension = fileName.slice(fileName.lastIndexOf('.'));
  const clean = type
    .replaceAll(UNWANTED, '')
    .replace(/^[. ]+/, '')
    .trimEnd();
  const name = clean === '' ? fileName : clean.toLowerCase().endsWith(extension) ? clean : `${clean}${extension}`;
  const ascii = name.replaceAll(/[^\x20-\x7e]/gu, '_');
  if (ascii === name) return `attachment; filename="${name}"`;
  const encoded = encodeURIComponent(name).replaceAll(/[!()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
};

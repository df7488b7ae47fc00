import { createHash } from 'node:crypto';

/** A file that another server of the installation sends. */
export interface NodeFile {
  readonly status: number;
  /** Present with status 200, and as the server stored it. */
  readonly bytes?: Uint8Array;
}

/**
 * Asks another server for a file of its cache. The answer must begin within `limitMs`: a server that was suspended keeps
 * its connections.
 * @throws Error when there is no answer, or an incomplete one
 */
export const getFromNode = async (
  {
    url,
    ...request
  }: { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly body: string },
  { signal, limitMs }: { readonly signal: AbortSignal; readonly limitMs: number },
): Promise<NodeFile> => {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(`no answer within ${limitMs} ms`)), limitMs);
  const until = AbortSignal.any([signal, late.signal]);
  try {
    const response = await fetch(url, { method: 'POST', ...request, signal: until, redirect: 'error' });
    clearTimeout(timer);
    if (response.status !== 200) {
      await response.body?.cancel();
      return { status: response.status };
    }
    const bytes = new Uint8Array(await response.arrayBuffer());
    // The validator of a cached file is a digest of its content.
    const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
    if (response.headers.get('etag') !== `"${digest}"`) throw new Error('the file differs from its digest');
    return { status: 200, bytes };
  } finally {
    clearTimeout(timer);
  }
};

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { createLinkedAbort } from '../lib/linked-abort.js';
import { withStallLimit } from '../lib/stall-limit.js';

/** A file that another server of the installation sends. */
export interface NodeFile {
  readonly status: number;
  /** Present with status 200, and as the server stored it. */
  readonly bytes?: Uint8Array;
}

/** After this time without a response, the server must show that it is alive, … */
const SUSPECT_MS = 2000;
/** … within this time. */
const ALIVE_MS = 5000;
/** The longest time without a byte of the body, which the server has in full before it answers. */
const BODY_STALL_MS = 5000;

/**
 * Asks another server for a file of its cache. The response must begin within `limitMs`, and within
 * a few seconds if the server answers nothing else either: one that was suspended keeps its
 * connections. The body may not pause for longer than `bodyStallMs`, five seconds by default.
 * @throws Error when there is no response, or an incomplete one
 */
export const getFromNode = async (
  {
    url,
    ...request
  }: { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly body: string },
  {
    signal,
    limitMs,
    bodyStallMs = BODY_STALL_MS,
  }: { readonly signal: AbortSignal; readonly limitMs: number; readonly bodyStallMs?: number },
): Promise<NodeFile> => {
  using late = createLinkedAbort(signal);
  const timer = setTimeout(() => late.abort(new Error(`no answer within ${limitMs} ms`)), limitMs);
  const suspect = setTimeout(() => {
    void isAlive(url).then((alive) => alive || late.abort(new Error('the server answers nothing')));
  }, SUSPECT_MS);
  try {
    const response = await fetch(url, { method: 'POST', ...request, signal: late.signal, redirect: 'error' });
    clearTimeout(timer);
    clearTimeout(suspect);
    if (response.status !== 200) {
      await response.body?.cancel();
      return { status: response.status };
    }
    const chunks: Uint8Array[] = [];
    const body = Readable.fromWeb(response.body as ReadableStream);
    for await (const chunk of withStallLimit<Buffer>(body, bodyStallMs)) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    // The validator of a cached file is a digest of its content.
    const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
    if (response.headers.get('etag') !== `"${digest}"`) throw new Error('the file differs from its digest');
    return { status: 200, bytes };
  } finally {
    clearTimeout(timer);
    clearTimeout(suspect);
  }
};

const isAlive = (url: string): Promise<boolean> =>
  fetch(new URL('/healthz', url), { signal: AbortSignal.timeout(ALIVE_MS), redirect: 'error' }).then(
    async ({ ok, body }) => {
      await body?.cancel();
      return ok;
    },
    () => false,
  );

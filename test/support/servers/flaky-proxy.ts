import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { startOrigin } from './origin.js';

export interface FlakyProxy {
  readonly url: string;
  /** Where requests go; to be set before the first one. */
  target: string;
  /**
   * While true, the first answer to each request fails: a limit, an error of the server, or half of
   * a file.
   */
  isFlaky: boolean;
  /** Files are not sent before. */
  held: Promise<void> | undefined;
  /** Failures by kind. */
  readonly failed: Record<'limited' | 'unavailable' | 'cut', number>;
  stop(): Promise<void>;
}

const isFile = (url: string): boolean => /\.(mp4|m4a|m4s|vtt)(\?|$)/.test(url);

/** Stands in front of a server. */
export const startFlakyProxy = async (): Promise<FlakyProxy> => {
  const known = new Set<string>();
  const failed = { limited: 0, unavailable: 0, cut: 0 };

  const fail = (request: IncomingMessage, response: ServerResponse): void => {
    // A source never has created something when it says that it is limited.
    const isLimited = request.method === 'POST' || failed.limited <= failed.unavailable;
    failed[isLimited ? 'limited' : 'unavailable'] += 1;
    response.writeHead(isLimited ? 429 : 503, { 'retry-after': '0' }).end();
  };

  const forward = async (request: IncomingMessage, response: ServerResponse, isCut: boolean): Promise<void> => {
    if (isFile(request.url!)) await proxy.held;
    const { host: _host, connection: _connection, ...headers } = request.headers;
    const sent = await buffer(request);
    const upstream = await fetch(`${proxy.target}${request.url}`, {
      method: request.method!,
      headers: headers as Record<string, string>,
      ...(sent.length > 0 && { body: sent }),
    });
    const bytes = Buffer.from(await upstream.arrayBuffer());
    const kept = ['content-type', 'etag', 'accept-ranges', 'content-range'].flatMap((name) => {
      const value = upstream.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    });
    response.writeHead(upstream.status, { ...Object.fromEntries(kept), 'content-length': bytes.length });
    if (!isCut) return void response.end(bytes);
    failed.cut += 1;
    response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
  };

  const origin = await startOrigin((request, response) => {
    const key = `${request.method} ${request.url}`;
    const isFirst = !known.has(key);
    known.add(key);
    const isFailing = proxy.isFlaky && isFirst;
    if (isFailing && !isFile(request.url!)) fail(request, response);
    else forward(request, response, isFailing).catch(() => response.destroy());
  });
  const proxy: FlakyProxy = {
    ...{ url: origin.url, target: '', isFlaky: false, held: undefined, failed, stop: origin.stop },
  };
  return proxy;
};

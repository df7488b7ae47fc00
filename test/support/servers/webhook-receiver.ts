import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { startOrigin } from './origin.js';
import { until } from './server-process.js';

/** A delivery as it arrived. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: {
    readonly id: string;
    readonly type: string;
    readonly object: { readonly type: string; readonly id: string };
    readonly data: Record<string, unknown>;
    readonly [field: string]: unknown;
  };
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/**
 * A server for webhooks on 127.0.0.1. `handle` is asked when the body has come; 200 when absent.
 */
export const startReceiver = async (
  handle: (request: IncomingMessage, response: ServerResponse, received: Received) => void = (_, response) =>
    void response.end(),
) => {
  const received: Received[] = [];
  const origin = await startOrigin(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    // Asked for a source file: without an answer its import stays where it is.
    if (body === '') return;
    const one: Received = { path: request.url ?? '', headers: request.headers, body, event: JSON.parse(body) };
    received.push(one);
    handle(request, response, one);
  });
  return {
    url: origin.url,
    received,
    /** Everything that came to a path, in order. */
    at: (path: string): Received[] => received.filter((one) => one.path === path),
    /** Waits until `count` events have come to a path. */
    until: async (path: string, count: number, limitMs = 120_000): Promise<Received[]> => {
      await until(
        `${count} events at ${path}`,
        () => received.filter((one) => one.path === path).length >= count,
        limitMs,
      );
      return received.filter((one) => one.path === path);
    },
    stop: origin.stop,
  };
};

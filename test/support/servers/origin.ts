import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Origin {
  readonly url: string;
  readonly port: number;
  readonly requests: { url: string; headers: IncomingMessage['headers'] }[];
  stop(): Promise<void>;
}

/** A web server on 127.0.0.1 that a test scripts; it remembers what it was asked. */
export const startOrigin = async (
  handle: (request: IncomingMessage, response: ServerResponse, count: number) => void,
): Promise<Origin> => {
  const requests: Origin['requests'] = [];
  const server: Server = createServer((request, response) => {
    requests.push({ url: request.url ?? '', headers: request.headers });
    handle(request, response, requests.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
};

/** Answers like a good static server: ranges, If-Range, 416. */
export const serveFile = (request: IncomingMessage, response: ServerResponse, bytes: Buffer, etag: string): void => {
  const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
  const first = range !== null && request.headers['if-range'] === etag ? Number(range[1]) : undefined;
  if (first !== undefined && first >= bytes.length) {
    response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end();
    return;
  }
  const body = bytes.subarray(first ?? 0);
  response.writeHead(first === undefined ? 200 : 206, {
    etag,
    'content-length': body.length,
    ...(first === undefined ? {} : { 'content-range': `bytes ${first}-${bytes.length - 1}/${bytes.length}` }),
  });
  response.end(body);
};

import { createReadStream } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { selfSigned } from './self-signed.js';

export interface TlsProxy {
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Speaks TLS for a server on every host name, as a proxy in front of it does, but for `own`, whose
 * paths are files or the HTML that `page` gives.
 */
export const startTlsProxy = async (
  target: string,
  own: { readonly host: string; readonly files: Readonly<Record<string, string>>; page(path: string): string },
): Promise<TlsProxy> => {
  const server = createServer(selfSigned, (asked, response) => {
    const path = asked.url!;
    if (asked.headers.host === own.host) {
      const file = own.files[path];
      response.setHeader('content-type', file ? 'text/javascript' : 'text/html; charset=utf-8');
      if (file) createReadStream(file).pipe(response);
      else response.end(own.page(path));
      return;
    }
    const headers = { ...asked.headers, 'x-forwarded-proto': 'https' };
    const passed = request(new URL(path, target), { method: asked.method, headers }, (got) => {
      response.writeHead(got.statusCode!, got.headers);
      got.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
};

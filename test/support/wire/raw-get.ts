import { type IncomingHttpHeaders, request } from 'node:http';

export interface RawResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The path as it is: `fetch` and `URL` would resolve dots and escape what is not allowed. */
export const sendRaw = (
  origin: string,
  path: string,
  method = 'GET',
  headers: Record<string, string> = {},
): Promise<RawResponse> =>
  new Promise((responded, failed) => {
    const { hostname, port } = new URL(origin);
    const outgoing = request({ hostname, port, path, method, headers }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      responded({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) });
    });
    outgoing.on('error', failed);
    outgoing.end();
  });

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export type SpeechResponse = 'silence' | { readonly status: number; readonly body: string | object };

interface Request {
  readonly path: string | undefined;
  readonly authorization: string | undefined;
  readonly fields: Readonly<Record<string, string>>;
  /** Bytes. */
  readonly file: number;
}

/**
 * Gives the answers in turn, the last one again and again, or what it is told for a request; keeps
 * what it was asked.
 */
export const startSpeechService = async (
  responses: readonly SpeechResponse[] | ((request: Request) => SpeechResponse),
) => {
  const requests: Request[] = [];
  const server = createServer(async (request, response) => {
    const form = await new Response(new Uint8Array(await buffer(request)), {
      headers: { 'content-type': request.headers['content-type'] ?? '' },
    }).formData();
    const file = form.get('file');
    const fields = [...form].filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    const { url: path, headers } = request;
    const asked = {
      path,
      authorization: headers.authorization,
      fields: Object.fromEntries(fields),
      file: file instanceof Blob ? file.size : 0,
    };
    const planned =
      typeof responses === 'function' ? responses(asked) : responses[Math.min(requests.length, responses.length - 1)]!;
    requests.push(asked);
    if (planned === 'silence') return;
    const body = typeof planned.body === 'string' ? planned.body : JSON.stringify(planned.body);
    response.writeHead(planned.status).end(body);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    stop: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
};

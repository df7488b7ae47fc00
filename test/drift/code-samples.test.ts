import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { Mux } from '@mux/mux-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { wholeDocument } from '../support/wire/whole-api.js';

const run = promisify(execFile);
const operations = Object.entries(wholeDocument.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);
const sourceOf = ({ operation }: (typeof operations)[number], label: string): string =>
  operation['x-codeSamples'].find((sample) => sample.label === label)!.source;

interface Received {
  readonly method: string;
  readonly path: string;
  readonly user: string;
  readonly body: unknown;
}
const received: Received[] = [];
const read = async (request: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const part of request) text += part;
  return text;
};
const recorder = createServer(async (request, response) => {
  const text = await read(request);
  const [, user = ''] = (request.headers.authorization ?? '').split(' ');
  received.push({
    method: request.method!,
    path: request.url!,
    user: Buffer.from(user, 'base64').toString(),
    body: text === '' ? undefined : JSON.parse(text),
  });
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[],"next_cursor":null}');
});
let env: Record<string, string>;
beforeAll(async () => {
  await new Promise<void>((resolve) => recorder.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(recorder.address() as AddressInfo).port}`;
  env = { MUX_BASE_URL: url, MUX_TOKEN_ID: 'id', MUX_TOKEN_SECRET: 'secret' };
});
afterAll(() => {
  recorder.close();
});

/** The request that every sample of an operation sends. */
const expected = ({ method, path, operation }: (typeof operations)[number]): Received => ({
  method,
  path: path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === 'workflow' ? 'summarize' : name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
  ),
  user: 'id:secret',
  body: operation.requestBody?.content['application/json'].example,
});

it('sends the request of every operation from the Node.js samples', async () => {
  const AsyncFunction = (async () => {}).constructor as unknown as new (
    ...parts: string[]
  ) => (...values: unknown[]) => unknown;
  class Client extends Mux {
    constructor() {
      super({ baseURL: env.MUX_BASE_URL!, tokenId: 'id', tokenSecret: 'secret', maxRetries: 0 });
    }
  }
  for (const operation of operations) {
    received.length = 0;
    const body = sourceOf(operation, 'Node.js').replace("import Mux from '@mux/mux-node';", '');
    await new AsyncFunction('Mux', 'console', body)(Client, { log: () => {} });
    expect(received, operation.operation.operationId).toEqual([expected(operation)]);
  }
});

it('sends the request of every operation from the curl samples', async () => {
  received.length = 0;
  const script = operations.map((operation) => sourceOf(operation, 'curl')).join(' -s\n');
  await run('bash', ['-ec', `${script} -s`], { env: { ...process.env, ...env } });
  expect(received).toEqual(operations.map(expected));
});

it.skipIf(!existsSync('/usr/bin/python3'))('sends the request of every operation from the Python samples', async () => {
  received.length = 0;
  const script = operations.map((operation) => sourceOf(operation, 'Python')).join('\n');
  await run('python3', ['-c', script], { env: { ...process.env, ...env } });
  expect(received).toEqual(operations.map(expected));
});

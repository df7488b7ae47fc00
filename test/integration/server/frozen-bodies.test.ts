import { createHash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ChatClient } from '#kinora/net/chat-client.js';
import { NodeClient } from '#kinora/net/node-client.js';
import { OriginClient } from '#kinora/net/origin-client.js';
import { postRecording } from '#kinora/net/post-recording.js';
import { ServiceClient } from '#kinora/net/service-client.js';
import { WebhookClient } from '#kinora/net/webhook-client.js';
import { SegmentOwner } from '#kinora/nodes/segment-owner.js';
import { memoryLogger } from '../../support/memory-logger.js';
import { type Origin, startOrigin } from '../../support/servers/origin.js';

const BYTES = randomBytes(200_000);
const ETAG = `"${createHash('sha256').update(BYTES).digest('hex').slice(0, 32)}"`;
const STALL_MS = 300;
/** For bodies that come, slowly, also when this process has to wait for the processor. */
const PATIENT_MS = 3000;

/**
 * Sends the first half, and then nothing, as a suspended process does: the connection stays open.
 */
const freeze = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-length': BYTES.length, etag: ETAG });
  response.write(BYTES.subarray(0, BYTES.length / 2));
};

describe.concurrent('a server that freezes in the middle of a body', () => {
  let server: Origin;
  beforeAll(async () => {
    server = await startOrigin((request, response) => {
      if (request.url === '/slow') {
        response.writeHead(200, { 'content-length': BYTES.length, etag: ETAG });
        // Longer than the limit in all, but never silent for as long.
        let at = 0;
        const timer = setInterval(() => {
          response.write(BYTES.subarray(at, at + BYTES.length / 10));
          at += BYTES.length / 10;
          if (at === BYTES.length) clearInterval(timer);
        }, PATIENT_MS / 5);
      } else if (request.url === '/whole') response.end(BYTES);
      else freeze(response);
    });
  });
  afterAll(() => server.stop());
  const { signal } = new AbortController();
  const fromNode = (path: string, stallMs: number) =>
    new NodeClient({ headersMs: 60_000, stallMs }).getFile(server.url + path, { headers: {}, body: '' }, signal);

  it('is given up as a peer, so that the segment is made here', async () => {
    await expect(fromNode('/frozen', STALL_MS)).rejects.toThrow('no data for 0.3 s');
    expect(BYTES.equals((await fromNode('/slow', PATIENT_MS)).bytes!)).toBe(true);
  });

  it('is avoided, and the segment is made by the server that was asked', async () => {
    const [peer, self] = ['peer', 'self'].map((id) => ({ id, internalUrl: server.url }) as never) as [never, never];
    const avoided: string[] = [];
    const outcomes: string[] = [];
    const peers = new SegmentOwner({
      client: new NodeClient(),
      nodes: { self, owners: () => [peer, self], avoid: (id) => void avoided.push(id) },
      signature: { sign: () => 'signed' },
      logger: memoryLogger(),
      metrics: { nodeAsked: (outcome) => void outcomes.push(outcome) },
    });
    const segment = { asset: { id: 'a' } as never, rendition: '720p', file: '0.m4s' };
    expect(await peers.get(segment, 0, { signal, priority: 0 as never })).toBeUndefined();
    expect([avoided, outcomes]).toEqual([['peer'], ['failed']]);
  });

  it('is given up as the origin of an edge; time that a viewer takes does not count', async () => {
    const hurried = new OriginClient(server.url, { stallMs: STALL_MS });
    const { body } = await hurried.fetch({ method: 'GET', path: '/frozen', headers: {} });
    await expect(buffer(body)).rejects.toThrow('no data for 0.3 s');
    hurried.stop();
    const patient = new OriginClient(server.url, { stallMs: PATIENT_MS });
    const response = await patient.fetch({ method: 'GET', path: '/whole', headers: {} });
    await sleep(1.5 * PATIENT_MS);
    // `toEqual` takes seconds for so many bytes, in which no other test would receive its own.
    expect(BYTES.equals(await buffer(response.body))).toBe(true);
    patient.stop();
  });

  it('is given up as the origin of an edge before it is connected', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const hurried = new OriginClient(`https://127.0.0.1:${port}`, { connectMs: STALL_MS });
    const failure = hurried.fetch({ method: 'GET', path: '/', headers: {} });
    await expect(failure).rejects.toMatchObject({
      code: 'unavailable',
      cause: { message: 'no connection in time' },
    });
    hurried.stop();
    silent.close();
  });

  it('is given up as a provider of models or of speech recognition, or as another service', async () => {
    const chat = new ChatClient({ url: server.url, model: 'm', bodyStallMs: STALL_MS, retryDelayMs: 1 });
    const asked = chat.ask({ messages: [{ role: 'user', text: '?' }], schema: {}, schemaName: 's', signal });
    await expect(asked).rejects.toMatchObject({ code: 'provider_failed' });
    const file = { name: 'window.wav', type: 'audio/wav', bytes: new Uint8Array(10) };
    const recording = { url: server.url, fields: [], file, maxResponseBytes: 2 ** 20, signal, bodyStallMs: STALL_MS };
    await expect(postRecording(recording)).rejects.toThrow('The answer stalled');
    const services = new ServiceClient({ allowPrivate: true, limitMs: STALL_MS });
    const called = services.call({ method: 'GET', url: server.url, headers: {}, allowPrivate: true });
    await expect(called).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('counts as a delivered webhook: its status has arrived', async () => {
    const sender = new WebhookClient({ allowPrivate: true });
    const response = await sender.send(server.url, { body: '{}', signature: 's' }, signal);
    expect(response).toMatchObject({ status: 200 });
  });
});

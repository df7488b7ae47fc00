import { expect, it } from 'vitest';
import { memoryLogger } from '../../../test/support/memory-logger.js';
import { MemoryTarget } from '../../../test/support/memory-target.js';
import { chunksOf } from '../../../test/support/wire/rtmp-bytes.js';
import { isKinoraError } from '../../lib/errors.js';
import { AttemptLimit } from '../attempt-limit.js';
import type { IngestPacket } from '../ingest.js';
import { RtmpClient } from './rtmp-client.js';
import { RtmpSession } from './rtmp-session.js';

const KEY = 'stream-key-1';
const clock = { now: () => new Date(0), monotonicMs: () => 0 };

/** A client and a server without sockets. `step` is the most bytes of a read. */
const connect = (streamKey: string, step = Number.POSITIVE_INFINITY) => {
  const target = new MemoryTarget([KEY]);
  const bodies: (Uint8Array | undefined)[] = [];
  const told: (string | undefined)[] = [];
  const toServer: Buffer[] = [];
  const toClient: Buffer[] = [];
  /** All that the server has sent. */
  const heard: Buffer[] = [];
  const server = new RtmpSession({
    peer: '192.0.2.1',
    transport: {
      send: (bytes) => toClient.push(Buffer.from(bytes)),
      pause: () => undefined,
      resume: () => undefined,
      close: () => undefined,
    },
    target: {
      publish: async (request) => {
        const result = await target.publish(request);
        if ('reason' in result) return result;
        return {
          ...result,
          write: (packet: IngestPacket, flvBody?: Uint8Array) => {
            bodies.push(flvBody);
            result.write(packet, flvBody);
          },
        };
      },
    },
    failedKeys: new AttemptLimit(60, clock),
    logger: memoryLogger(),
    clock,
    publishTimeoutMs: 10_000,
    idleTimeoutMs: 10_000,
  });
  const client = new RtmpClient({
    app: 'app',
    tcUrl: 'rtmp://host/app',
    streamKey,
    send: (bytes) => toServer.push(bytes),
    onPublishing: () => told.push('publishing'),
    onRefused: (code) => told.push(code),
  });
  const pass = (queue: Buffer[], receive: (bytes: Buffer) => void): void => {
    const bytes = Buffer.concat(queue.splice(0));
    for (let at = 0; at < bytes.length; at += step) receive(bytes.subarray(at, Math.min(bytes.length, at + step)));
  };
  /** Until neither side has anything to say. */
  const talk = async (): Promise<void> => {
    while (toServer.length + toClient.length > 0) {
      pass(toServer, (bytes) => server.receive(bytes));
      await new Promise((resolve) => setImmediate(resolve));
      heard.push(...toClient);
      pass(toClient, (bytes) => client.receive(bytes));
    }
  };
  return { client, target, told, bodies, talk, toServer, toClient, heard };
};

const config = Buffer.from('1700000000000164', 'hex');
const frameOf = (bytes: number): Buffer => Buffer.concat([Buffer.from('1701000000', 'hex'), Buffer.alloc(bytes, 7)]);

it.each([Number.POSITIVE_INFINITY, 7])('publishes with reads of at most %f bytes', async (step) => {
  const { client, target, told, bodies, talk } = connect(KEY, step);
  await talk();
  expect(told).toEqual(['publishing']);
  const times = [0, 0xff_fffe, 0xff_ffff, 0x100_0000, 0xffff_ffff];
  client.media(9, 0, config);
  for (const time of times) client.media(9, time, frameOf(10_000));
  client.media(8, 0, Buffer.from('af001190', 'hex'));
  client.media(8, 23, Buffer.from('af01abcd', 'hex'));
  await talk();
  const [publication] = target.publications;
  const dts = publication!.packets.flatMap((packet) => (packet.kind === 'video' ? [packet.dtsMs >>> 0] : []));
  expect(dts).toEqual(times);
  expect(bodies).toEqual([
    config,
    ...times.map(() => frameOf(10_000)),
    Buffer.from('af001190', 'hex'),
    Buffer.from('af01abcd', 'hex'),
  ]);
  client.unpublish();
  await talk();
  expect(publication!.endReason).toBe('The encoder has ended the stream.');
});

it('tells why it was refused, and does not say so of an unknown command', async () => {
  const { told, talk } = connect('wrong');
  await talk();
  expect(told).toEqual(['NetStream.Publish.BadName']);
});

it('throws when the server speaks another protocol', () => {
  const { client } = connect(KEY);
  expect(() => client.receive(Buffer.from('HTTP/1.1 400 Bad Request'))).toThrow('does not speak RTMP');
});

it('survives whatever a service sends, and never publishes twice', async () => {
  const { talk, toClient, heard } = connect(KEY);
  await talk();
  expect(toClient).toEqual([]);
  const bytes = Buffer.concat(heard);
  // Of the handshake, only the version matters.
  for (let at = 1 + 2 * 1536; at < bytes.length; at++) {
    for (const value of [0, 0x7f, 0xff]) {
      const changed = Buffer.from(bytes);
      changed[at] = value;
      let publications = 0;
      const options = { app: 'app', tcUrl: 'rtmp://host/app', streamKey: KEY, send: () => undefined };
      const client = new RtmpClient({ ...options, onPublishing: () => publications++, onRefused: () => undefined });
      try {
        client.receive(changed);
        client.receive(changed.subarray(1 + 2 * 1536));
      } catch (error) {
        expect(isKinoraError(error, 'invalid_parameters'), String(error)).toBe(true);
      }
      expect(publications).toBeLessThanOrEqual(1);
    }
  }
});

it('responds to pings', async () => {
  const { client, talk, toServer } = connect(KEY);
  await talk();
  client.receive(chunksOf({ typeId: 4, payload: Buffer.from('000600000102', 'hex') }, { chunkStream: 2 }));
  expect(Buffer.concat(toServer).subarray(-6).toString('hex')).toBe('000700000102');
});

import { createSocket, type Socket } from 'node:dgram';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, expect, it } from 'vitest';
import {
  HANDSHAKE_TYPE,
  type Handshake,
  readHandshake,
  writeCapabilities,
  writeHandshake,
  writePeerAddress,
  writeText,
} from '#kinora/live/srt/handshake.js';
import { wrapKeys, wrappingKey, writeKeyMaterial } from '#kinora/live/srt/key-material.js';
import {
  CONTROL,
  type ControlPacket,
  EXTENSION,
  readPacket,
  writeControl,
  writeData,
} from '#kinora/live/srt/packets.js';
import { SrtServer } from '#kinora/live/srt/srt-server.js';
import { memoryLogger } from '../support/memory-logger.js';
import { MemoryTarget, PASSPHRASE } from '../support/memory-target.js';
import { until } from '../support/servers/server-process.js';

const KEY = 'stream-key-1';
const SALT = Buffer.alloc(16, 3);
const STREAM_KEY = Buffer.alloc(16, 9);
const keyMessage = writeKeyMaterial(
  wrapKeys({ salt: SALT, even: STREAM_KEY }, wrappingKey(PASSPHRASE, { salt: SALT, keyBytes: 16 })),
);

/** A caller that sends what it is told. */
class Caller {
  readonly received: Buffer[] = [];
  readonly #socket: Socket = createSocket('udp4');
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
    this.#socket.on('message', (bytes) => void this.received.push(bytes));
  }

  send(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => this.#socket.send(bytes, this.#port, '127.0.0.1', () => resolve()));
  }

  close(): void {
    this.#socket.close();
  }

  handshake(fields: Partial<Handshake>, extensions: readonly (readonly [number, Buffer])[] = []): Buffer {
    const { type = HANDSHAKE_TYPE.induction } = fields;
    const defaults = { version: 5, encryption: 0, initialSequence: 1000, mtu: 1500, flowWindow: 8192, socketId: 77 };
    const handshake = { ...defaults, cookie: 0, ...fields, type, extensions: new Map(extensions) };
    const content = writeHandshake(handshake, writePeerAddress('127.0.0.1'));
    return writeControl({ type: CONTROL.handshake, timestamp: 0, socketId: 0 }, content);
  }

  conclusion(cookie: number, { key = KEY, socketId = 77 } = {}): Buffer {
    const capabilities = { version: 0x010503, flags: 0x3f, receiverLatencyMs: 120, senderLatencyMs: 120 };
    return this.handshake({ type: HANDSHAKE_TYPE.conclusion, cookie, socketId }, [
      [EXTENSION.handshakeRequest, writeCapabilities(capabilities)],
      [EXTENSION.keyRequest, keyMessage],
      [EXTENSION.streamId, writeText(key)],
    ]);
  }

  /** The handshake that comes next; acknowledgements may come before it. */
  async response(): Promise<Handshake> {
    for (;;) {
      await until('a response', () => this.received.length > 0);
      const { type, payload } = readPacket(this.received.shift()!) as ControlPacket;
      if (type === CONTROL.handshake) return readHandshake(payload)!;
    }
  }

  async cookie(): Promise<number> {
    await this.send(this.handshake({ version: 4 }));
    return (await this.response()).cookie;
  }
}

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const start = async () => {
  const target = new MemoryTarget([KEY]);
  const server = await SrtServer.start({ host: '127.0.0.1', port: 0, target, logger: memoryLogger() });
  const open = (): Caller => {
    const caller = new Caller(server.port);
    opened.push(caller);
    return caller;
  };
  opened.push({ close: () => server.stop() });
  return { server, target, open, caller: open() };
};

/** Everything that was sent before has been read. */
const settled = async (caller: Caller): Promise<void> => {
  caller.received.length = 0;
  await caller.cookie();
};

it('sends no more than it gets, and keeps nothing, before a peer has shown its address', async () => {
  const { server, target, caller, open } = await start();
  const induction = caller.handshake({ version: 4 });
  await caller.send(induction);
  await until('a response', () => caller.received.length > 0);
  expect(caller.received[0]!.length).toBeLessThanOrEqual(induction.length);
  const cookie = await caller.cookie();
  caller.received.length = 0;
  await caller.send(caller.conclusion((cookie ^ 1) >>> 0));
  await caller.send(induction.subarray(0, 60));
  // The cookie of another port.
  const other = open();
  await other.send(other.conclusion(cookie));
  await nextTurn();
  await settled(caller);
  expect([server.connectionCount, target.publications.length, other.received.length]).toEqual([0, 0, 0]);
});

it('asks for a stream key 60 times a minute, and once for the same socket', async () => {
  const { server, target, caller } = await start();
  let count = 0;
  const { publish } = target;
  target.publish = (request) => {
    count += 1;
    return publish.call(target, request);
  };
  const cookie = await caller.cookie();
  const types: number[] = [];
  for (let socketId = 1; socketId <= 65; socketId += 1) {
    await caller.send(caller.conclusion(cookie, { key: 'wrong', socketId }));
    types.push((await caller.response()).type);
  }
  expect(types).toEqual([...Array(60).fill(1404), ...Array(5).fill(1402)]);
  await caller.send(caller.conclusion(cookie, { key: 'wrong', socketId: 1 }));
  expect((await caller.response()).type).toBe(1404);
  expect([count, server.connectionCount]).toEqual([60, 0]);
});

it('survives what is no packet, no handshake and no media, and goes on to receive', async () => {
  const { server, target, caller, open } = await start();
  const cookie = await caller.cookie();
  await caller.send(caller.conclusion(cookie));
  const { socketId, type } = await caller.response();
  expect(type).toBe(HANDSHAKE_TYPE.conclusion);

  const payload = Buffer.alloc(188 * 7, 0x47);
  const data = (sequence: number): Buffer =>
    writeData({ sequence, keyFlag: 1, timestamp: 0, socketId, payload, messageNumber: 1, isRetransmitted: false });
  const kinds = [
    caller.conclusion(cookie),
    data(1000),
    ...Object.values(CONTROL)
      .filter((control) => control !== CONTROL.shutdown)
      .map((control) => writeControl({ type: control, subtype: 3, timestamp: 0, socketId }, keyMessage)),
  ];
  const change = fc.record({
    kind: fc.nat(kinds.length - 1),
    cut: fc.nat(80),
    bytes: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 20 }), async (changes) => {
      for (const { kind, cut, bytes } of changes) {
        const packet = Buffer.from(kinds[kind]!.subarray(0, cut > 70 ? cut - 60 : undefined));
        // Not its receiver, so that it gets further; and no end of the connection.
        for (const [at, value] of bytes) if (at % packet.length >= 16) packet[at % packet.length] = value;
        if (packet.length > 0) await caller.send(packet);
      }
    }),
    { numRuns: 40 },
  );
  // Far ahead, late, and others' packets.
  for (const sequence of [2 ** 30, 0, 2 ** 31 - 1, 20_000]) await caller.send(data(sequence));
  await open().send(data(1001));
  await settled(caller);
  expect(server.connectionCount).toBe(1);
  expect(target.publications[0]!.endReason).toBeUndefined();

  await caller.send(writeControl({ type: CONTROL.shutdown, timestamp: 0, socketId }, [0]));
  await until('the end', () => target.publications[0]!.endReason !== undefined);
  // A conclusion that was late on its way is none of a new encoder.
  await caller.send(caller.conclusion(cookie));
  await settled(caller);
  expect(target.publications).toHaveLength(1);
});

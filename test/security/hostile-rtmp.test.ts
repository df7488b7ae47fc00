import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AttemptLimit } from '#kinora/live/attempt-limit.js';
import type { IngestPacket } from '#kinora/live/ingest.js';
import { type RtmpLimits, RtmpServer } from '#kinora/live/rtmp/rtmp-server.js';
import { RtmpSession } from '#kinora/live/rtmp/rtmp-session.js';
import { fixture } from '../support/media/fixtures.js';
import { publishFile } from '../support/media/publish-file.js';
import { memoryLogger } from '../support/memory-logger.js';
import { MemoryTarget } from '../support/memory-target.js';
import { startPublisher } from '../support/processes/publisher.js';
import { until } from '../support/servers/server-process.js';
import { chunksOf, commandBytes, handshakeBytes, openingBytes } from '../support/wire/rtmp-bytes.js';

const KEY = 'stream-key-1';
const TYPICAL_SIZES = [1, 2, 3, 7, 11, 12, 18, 128, 129, 1460, 4096, 65_536];

/** Whole sessions of half a second, as their encoders sent them. */
const CORPUS = join(import.meta.dirname, 'rtmp-sessions');

describe('sessions of real encoders', () => {
  /** What FFmpeg sends, of the system and with Enhanced RTMP. */
  const sessions: Buffer[] = [];
  const stored = readdirSync(CORPUS).map((name) => ({ name, bytes: readFileSync(join(CORPUS, name)) }));

  /** Stands between an encoder and a server, and keeps what the encoder sends. */
  const record = async (publish: (url: string) => Promise<unknown>): Promise<Buffer> => {
    const target = new MemoryTarget([KEY]);
    const server = await RtmpServer.start({ host: '127.0.0.1', port: 0, target, logger: memoryLogger() });
    const parts: Buffer[] = [];
    const recorder = createServer((client) => {
      const upstream = connect(server.port, '127.0.0.1');
      client.on('data', (data: Buffer) => parts.push(data));
      client.pipe(upstream).pipe(client);
      for (const socket of [client, upstream]) socket.on('error', () => {});
    });
    recorder.listen(0, '127.0.0.1');
    await once(recorder, 'listening');
    await publish(`rtmp://127.0.0.1:${(recorder.address() as { port: number }).port}/app/${KEY}`);
    recorder.close();
    await server.stop();
    return Buffer.concat(parts);
  };

  beforeAll(async () => {
    const args = ['-i', await fixture('h264-aac.mp4'), '-t', '0.6', '-c', 'copy'];
    const late = [...args, '-output_ts_offset', '16777.1'];
    sessions.push(await record((url) => startPublisher(url, args).output));
    sessions.push(await record((url) => startPublisher(url, late).output));
    const path = await fixture('hevc-aac.mp4');
    sessions.push(await record((url) => publishFile(path, url)));
  });

  /** Feeds a session, with the pauses in which keys are looked up. */
  const replay = async (pieces: Iterable<Buffer>) => {
    const target = new MemoryTarget([KEY]);
    const logger = memoryLogger();
    const clock = { now: () => new Date(0), monotonicMs: () => 0 };
    let isPaused = false;
    const transport = {
      send: () => {},
      close: () => {},
      pause: () => {
        isPaused = true;
      },
      resume: () => {
        isPaused = false;
      },
    };
    const failedKeys = new AttemptLimit(60, clock);
    const limits = { publishTimeoutMs: 10_000, idleTimeoutMs: 10_000 };
    const session = new RtmpSession({ peer: '192.0.2.1', transport, target, failedKeys, logger, clock, ...limits });
    for (const piece of pieces) {
      session.receive(piece);
      if (isPaused) await nextTurn();
    }
    session.closed('The encoder has closed the connection.');
    return { target, errors: logger.lines.filter(({ level }) => level === 'error') };
  };

  const split = (bytes: Buffer, sizes: readonly number[]): Buffer[] => {
    const pieces: Buffer[] = [];
    for (let at = 0, index = 0; at < bytes.length; index++) {
      const size = sizes[index % sizes.length]!;
      pieces.push(bytes.subarray(at, at + size));
      at += size;
    }
    return pieces;
  };

  const digestOf = (packets: readonly IngestPacket[]): string => {
    const hash = createHash('md5');
    for (const packet of packets) {
      const bytes = 'data' in packet ? packet.data : 'config' in packet ? packet.config.record : undefined;
      hash.update(JSON.stringify({ ...packet, data: undefined, config: undefined }));
      if (bytes) hash.update(bytes);
    }
    return hash.digest('hex');
  };

  it.each([
    ['ffmpeg-5-audio.bin', undefined, 0, 25],
    ['ffmpeg-5-h264.bin', 'avc', 15, 25],
    ['ffmpeg-5-late.bin', 'avc', 15, 25],
    ['ffmpeg-8-av1.bin', 'av1', 15, 25],
    ['ffmpeg-8-h264.bin', 'avc', 15, 25],
    ['ffmpeg-8-hevc.bin', 'hevc', 15, 25],
  ])('that are stored are read as ever: %s', async (name, codec, video, audio) => {
    const { bytes } = stored.find((session) => session.name === name)!;
    const { target, errors } = await replay(split(bytes, [1460]));
    expect(errors).toEqual([]);
    expect(target.publications).toHaveLength(1);
    const { packets } = target.publications[0]!;
    const count = (kind: IngestPacket['kind']): number => packets.filter((packet) => packet.kind === kind).length;
    const config = packets.find((packet) => packet.kind === 'video-config');
    expect([config?.config.codec, count('video'), count('audio')]).toEqual([codec, video, audio]);
  });

  it('are read the same, wherever reads end', async () => {
    for (const bytes of sessions) {
      const whole = await replay(split(bytes, [65_536]));
      const expected = digestOf(whole.target.publications[0]!.packets);
      expect(whole.target.publications[0]!.packets.length).toBeGreaterThan(20);
      await fc.assert(
        fc.asyncProperty(fc.array(fc.constantFrom(...TYPICAL_SIZES), { minLength: 1, maxLength: 5 }), async (sizes) => {
          const { target } = await replay(split(bytes, sizes));
          expect(digestOf(target.publications[0]!.packets)).toBe(expected);
        }),
        { numRuns: 12 },
      );
    }
  });

  it('may be changed anywhere, and no error is ours', async () => {
    const change = fc.record({
      // The headers of the first messages matter most.
      at: fc.oneof(fc.nat(4000), fc.nat()),
      removed: fc.oneof(fc.constant(1), fc.nat(3), fc.nat(400)),
      inserted: fc.uint8Array({ maxLength: 8 }),
    });
    const changes = fc.array(change, { minLength: 1, maxLength: 5 });
    const all = [...sessions, ...stored.map(({ bytes }) => bytes)];
    await fc.assert(
      fc.asyncProperty(fc.nat(all.length - 1), changes, async (index, list) => {
        let bytes: Buffer = all[index]!.subarray(0, 200_000);
        for (const { at, removed, inserted } of list) {
          const position = handshakeBytes.length + (at % (bytes.length - handshakeBytes.length));
          bytes = Buffer.concat([bytes.subarray(0, position), inserted, bytes.subarray(position + removed)]);
        }
        const { target, errors } = await replay(split(bytes, [4096]));
        expect(errors).toEqual([]);
        for (const { endReason } of target.publications) expect(endReason).toBeDefined();
      }),
      { numRuns: 400 },
    );
  });
});

describe('connections', () => {
  let server: RtmpServer;
  let target: MemoryTarget;
  const sockets: Socket[] = [];

  const start = async (limits: Partial<RtmpLimits>) => {
    target = new MemoryTarget([KEY]);
    server = await RtmpServer.start({ host: '127.0.0.1', port: 0, target, logger: memoryLogger(), limits });
  };
  const open = () => {
    const socket = connect(server.port, '127.0.0.1');
    const state = { socket, text: '', isClosed: false };
    // Closed by the server while the test still writes.
    socket.on('error', () => {});
    socket.on('data', (data) => {
      state.text += data.toString('latin1');
    });
    socket.on('close', () => {
      state.isClosed = true;
    });
    sockets.push(socket);
    return state;
  };
  const closed = (state: { isClosed: boolean }) => until('the server closes the connection', () => state.isClosed);

  beforeAll(() => start({}));
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await server.stop();
  });

  it('are closed when they send something else', async () => {
    for (const bytes of [Buffer.from('GET / HTTP/1.1\r\n\r\n'), Buffer.alloc(100_000, 0xff), Buffer.of(3)]) {
      const state = open();
      state.socket.end(bytes);
      await closed(state);
    }
    const state = open();
    state.socket.write(Buffer.concat([handshakeBytes, Buffer.alloc(100_000, 0x55)]));
    await closed(state);
  });

  it('do not take memory for what they only announce', async () => {
    await server.stop();
    await start({ connectionsPerAddress: 1000 });
    const before = process.memoryUsage().rss;
    // 64 messages of 64 KiB each, of which one chunk comes.
    const begun = Array.from({ length: 60 }, (_, id) =>
      Buffer.concat([Buffer.of(4 + id, 0, 0, 0, 0, 255, 255, 9, 1, 0, 0, 0), Buffer.alloc(128)]),
    );
    const states = Array.from({ length: 200 }, () => open());
    for (const { socket } of states) socket.write(Buffer.concat([handshakeBytes, ...begun]));
    // A quarter of a MiB is the limit for all messages.
    for (const state of states) await closed(state);
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 2 ** 20);
  });

  it('are closed when they are slow', async () => {
    await server.stop();
    await start({ publishTimeoutMs: 1500 });
    const state = open();
    const timer = setInterval(() => state.socket.write(Buffer.of(3)), 50);
    await closed(state);
    clearInterval(timer);
    const second = open();
    const commands = setInterval(() => second.socket.write(commandBytes('connect', 1, { app: 'app' })), 50);
    second.socket.write(handshakeBytes);
    await closed(second);
    clearInterval(commands);
    expect(second.text).toContain('No stream was published in time.');
  });

  it('are limited in number, and publishers stay', async () => {
    await server.stop();
    await start({ connections: 3, connectionsPerAddress: 3 });
    const publisher = open();
    publisher.socket.write(openingBytes(KEY));
    await until('it publishes', () => target.publications.length === 1);
    const waiting = [open(), open()];
    for (const { socket } of waiting) await once(socket, 'connect');
    await closed(open());
    expect(waiting.map(({ isClosed }) => isClosed)).toEqual([false, false]);
    waiting[0]!.socket.destroy();
    // A place is free again.
    await until('a connection is accepted', async () => {
      const state = open();
      state.socket.write(handshakeBytes);
      await Promise.race([once(state.socket, 'data'), once(state.socket, 'close')]);
      return !state.isClosed && state.text !== '';
    });
    expect(target.publications[0]!.endReason).toBeUndefined();
  });

  it('with wrong keys are limited', async () => {
    await server.stop();
    await start({ failedKeysPerMinute: 3 });
    const texts: string[] = [];
    for (let attempt = 0; attempt < 5; attempt++) {
      const state = open();
      state.socket.write(openingBytes(attempt === 4 ? KEY : `wrong-${attempt}`));
      await closed(state);
      texts.push(state.text);
    }
    expect(texts.map((text) => /No stream has this key|Too many wrong stream keys/.exec(text)?.[0])).toEqual([
      ...Array(3).fill('No stream has this key'),
      ...Array(2).fill('Too many wrong stream keys'),
    ]);
    expect(target.publications).toEqual([]);
  });

  it('get the reason although they keep sending', async () => {
    await server.stop();
    await start({});
    const state = open();
    state.socket.write(openingBytes('wrong'));
    const flood = chunksOf({ typeId: 9, payload: Buffer.alloc(500_000), streamId: 1 });
    const timer = setInterval(() => state.socket.write(flood), 5);
    await closed(state);
    clearInterval(timer);
    expect(state.text).toContain('No stream has this key.');
  });

  it('that do not read get no more than a bounded amount', async () => {
    const state = open();
    state.socket.write(openingBytes(KEY));
    await until('it publishes', () => target.publications.length === 1);
    state.socket.pause();
    const unknown = Buffer.concat(Array.from({ length: 2000 }, () => commandBytes('unknown', 9, null)));
    const timer = setInterval(() => state.socket.write(unknown), 5);
    await until('the server gives up', () => target.publications[0]!.endReason !== undefined);
    clearInterval(timer);
    state.socket.destroy();
  });

  it('to a port that is taken are told in one sentence', async () => {
    const options = { host: '127.0.0.1', port: server.port, target, logger: memoryLogger() };
    await expect(RtmpServer.start(options)).rejects.toMatchObject({
      code: 'unavailable',
      message: `Cannot receive RTMP on 127.0.0.1:${server.port}: another program listens there.`,
    });
  });
});

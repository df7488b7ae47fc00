import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { IngestPacket } from '#kinora/live/ingest.js';
import { HANDSHAKE_TYPE, writeHandshake } from '#kinora/live/srt/handshake.js';
import { CONTROL, readPacket, writeControl } from '#kinora/live/srt/packets.js';
import { SrtServer } from '#kinora/live/srt/srt-server.js';
import { TransportReader } from '#kinora/live/srt/transport-reader.js';
import { readLiveVideo } from '#kinora/media/live/stream-facts.js';
import { ffmpegPath } from '../../support/media/ffmpeg-command.js';
import { fixture } from '../../support/media/fixtures.js';
import { readFrameCounters } from '../../support/media/measure.js';
import { readSentPackets } from '../../support/media/sent-packets.js';
import { memoryLogger } from '../../support/memory-logger.js';
import { MemoryTarget, PASSPHRASE, packetsOf, type Received } from '../../support/memory-target.js';
import { type Publisher, startPublisher } from '../../support/processes/publisher.js';
import { freePort } from '../../support/servers/free-port.js';
import { LiveStation, SESSION_FRAMES, type WireLiveStream } from '../../support/servers/live-station.js';
import { type LossyRelay, startLossyRelay } from '../../support/servers/lossy-relay.js';
import { cleanUpServers, until } from '../../support/servers/server-process.js';
import { api } from '../../support/wire/create-asset.js';

const KEY = 'c8f3a2d1-stream-key';
/** What was sent last is not dropped at the end, and packets that are sent again are waited for. */
const PATIENT = 'linger=20&latency=4000000';
/** Times real time. The system drops what comes in bursts. */
const RATE = 6;

const servers: SrtServer[] = [];
const relays: LossyRelay[] = [];
const publishers: Publisher[] = [];
afterEach(async () => {
  for (const { process } of publishers.splice(0)) process.kill('SIGKILL');
  for (const relay of relays.splice(0)) relay.stop();
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

const start = async () => {
  const target = new MemoryTarget([KEY]);
  const logger = memoryLogger();
  const server = await SrtServer.start({ host: '127.0.0.1', port: 0, target, logger });
  servers.push(server);
  return { server, target, logger };
};

interface Sending {
  readonly key?: string;
  readonly passphrase?: string;
  readonly query?: string;
  readonly streamId?: string;
  readonly rate?: number;
}

const publish = (port: number, path: string, sending: Sending = {}): Publisher => {
  const { key = KEY, passphrase = PASSPHRASE, query = PATIENT, streamId = key, rate = RATE } = sending;
  const secret = passphrase === '' ? '' : `&passphrase=${passphrase}`;
  const url = `srt://127.0.0.1:${port}?${query}${secret}&streamid=${streamId}`;
  const publisher = startPublisher(url, ['-readrate', String(rate), '-i', path, '-c', 'copy']);
  publishers.push(publisher);
  return publisher;
};

const digest = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex');

const ended = async (target: MemoryTarget, index = 0): Promise<Received> => {
  await until('the publication ends', () => target.publications[index]?.endReason !== undefined);
  return target.publications[index]!;
};

/**
 * Compares what has arrived with the packets of the file: bytes and times, exactly. `hasSets`: its
 * key frames have parameter sets, which do not arrive in frames.
 */
const expectAllOf = async (received: Received, path: string, { hasSets = false } = {}): Promise<void> => {
  const sent = await readSentPackets(path);
  for (const kind of ['video', 'audio'] as const) {
    const packets = packetsOf(received, kind);
    const compared = (_: unknown, index: number): boolean => !hasSets || kind === 'audio' || !sent.video[index]!.isKey;
    const digests = packets.map(({ data }) => digest(data));
    expect(digests.filter(compared)).toEqual(sent[kind].map((packet) => packet.digest).filter(compared));
    const [first] = packets;
    for (const [index, { dtsMs }] of packets.entries()) {
      const expected = sent[kind][index]!.dtsMs - sent[kind][0]!.dtsMs;
      expect(dtsMs - first!.dtsMs, `${kind} ${index}`).toBeCloseTo(expected, 1);
    }
  }
  const video = packetsOf(received, 'video');
  expect(video.map(({ isKey }) => isKey)).toEqual(sent.video.map(({ isKey }) => isKey));
  for (const [index, { compositionMs }] of video.entries())
    expect(compositionMs).toBeCloseTo(sent.video[index]!.compositionMs, 1);
};

describe('FFmpeg of the system', () => {
  it.each([
    ['H.264 with B-frames', 'h264-aac.mp4', 'avc', 16, KEY],
    // The form of SRT Access Control.
    ['HEVC', 'hevc-aac.mp4', 'hevc', 32, `#!::m=publish,r=${KEY}`],
  ] as const)('sends %s and AAC', async (_name, file, codec, keyBytes, streamId) => {
    const { server, target, logger } = await start();
    const path = await fixture(file);
    await publish(server.port, path, { query: `${PATIENT}&pbkeylen=${keyBytes}`, streamId }).output;
    const received = await ended(target);
    await expectAllOf(received, path, { hasSets: codec === 'hevc' });
    expect(received.endReason).toBe('The encoder has ended the stream.');
    expect(received.request).toMatchObject({ streamKey: KEY, protocol: 'srt', peer: '127.0.0.1' });
    const configs = packetsOf(received, 'video-config').map(({ config }) => config);
    expect(configs).toHaveLength(1);
    expect(readLiveVideo(codec, configs[0]!.record)).toMatchObject({ codec, width: 320, height: 180 });
    expect(packetsOf(received, 'audio-config')).toHaveLength(1);
    expect(server.connectionCount).toBe(0);
    const log = JSON.stringify(logger.lines);
    expect(log).not.toContain(KEY);
    expect(log).not.toContain(PASSPHRASE);
  });

  it('loses nothing in a network that drops, repeats and delays, and changes its key', async () => {
    const { server, target, logger } = await start();
    const relay = await startLossyRelay(server.port, 60);
    relays.push(relay);
    const path = await fixture('h264-aac.mp4');
    // After 100 packets; the next key is sent 40 packets before.
    const query = `${PATIENT}&kmrefreshrate=100&kmpreannounce=40`;
    await publish(relay.port, path, { rate: 2, query }).output;
    await expectAllOf(await ended(target), path);
    expect(relay.counts.conclusions).toBeGreaterThan(0);
    expect(Math.min(relay.counts.dropped, relay.counts.repeated, relay.counts.delayed)).toBeGreaterThan(5);
    // Both conclusions were of one encoder.
    expect(target.publications).toHaveLength(1);
    expect(logger.lines.map(({ message }) => message)).toEqual(['SRT encoder connected', 'SRT encoder disconnected']);
    expect(logger.lines[1]!.fields).toMatchObject({ lost_packets: 0 });
  });

  it.each<[string, Sending, string, string]>([
    ['a wrong passphrase', { passphrase: 'another-passphrase' }, 'The passphrase is wrong.', 'Incorrect passphrase'],
    ['no passphrase', { passphrase: '' }, 'The encoder has no passphrase.', 'Password required'],
    ['an unknown stream key', { key: 'wrong-key-5d1c' }, 'No stream has this key.', 'failed'],
    ['no stream ID', { streamId: '' }, 'The stream ID is no stream key.', 'failed'],
    ['a request to receive', { streamId: `#!::m=request,r=${KEY}` }, 'The peer wants to receive.', 'failed'],
    ['a file', { query: 'transtype=file' }, 'The encoder sends a file instead of a live stream.', 'failed'],
  ])('is refused with %s', async (_name, sending, reason, output) => {
    const { server, target, logger } = await start();
    const path = await fixture('h264-aac.mp4');
    expect(await publish(server.port, path, sending).output).toContain(output);
    expect(target.publications).toEqual([]);
    expect(logger.lines).toMatchObject([{ level: 'info', message: 'SRT encoder refused' }]);
    expect(logger.lines[0]!.fields.reason).toContain(reason);
    expect(JSON.stringify(logger.lines)).not.toContain('wrong-key');
  });

  it('is disconnected with a codec that can not be recorded', async () => {
    const { server, target } = await start();
    await publish(server.port, await fixture('mpeg2-ac3.ts')).output;
    expect((await ended(target)).endReason).toBe('The video codec is MPEG-2. Set the video encoder to H.264 or HEVC.');
  });

  it('ends alone when its session fails', async () => {
    const { server, target, logger } = await start();
    const accept = target.publish.bind(target);
    const write = (): never => {
      throw new Error('broken');
    };
    target.publish = async (request) => ({ ...(await accept(request)), write });
    await publish(server.port, await fixture('h264-aac.mp4')).output;
    expect((await ended(target)).endReason).toBe('The server has failed.');
    expect(server.connectionCount).toBe(0);
    expect(logger.lines.map(({ level }) => level)).toEqual(['info', 'error', 'info']);
  });

  it('is gone when it does not respond any more', async () => {
    const { server, target } = await start();
    const { process } = publish(server.port, await fixture('h264-aac.mp4'), { rate: 1 });
    await until('it sends', () => (target.publications[0]?.packets.length ?? 0) > 20);
    process.kill('SIGKILL');
    expect((await ended(target)).endReason).toBe('The encoder does not respond.');
    expect(server.connectionCount).toBe(0);
  });
});

it('ignores datagrams that are larger than packets of SRT', async () => {
  const { server } = await start();
  const socket = createSocket('udp4');
  try {
    const response = once(socket, 'message') as Promise<[Buffer]>;
    const fields = { version: 4, encryption: 0, initialSequence: 1, mtu: 1500, flowWindow: 8192, cookie: 0 };
    for (const [socketId, bytes] of [[1, 1500] as const, [2, 0] as const]) {
      const handshake = { ...fields, type: HANDSHAKE_TYPE.induction, socketId, extensions: new Map() };
      const content = Buffer.concat([writeHandshake(handshake, Buffer.alloc(4)), Buffer.alloc(bytes)]);
      socket.send(
        writeControl({ type: CONTROL.handshake, timestamp: 0, socketId: 0 }, content),
        server.port,
        '127.0.0.1',
      );
    }
    expect(readPacket((await response)[0])!.socketId).toBe(2);
  } finally {
    socket.close();
  }
});

describe('a transport stream', () => {
  const read = (bytes: Buffer, size: number, isLost: (at: number) => boolean = () => false) => {
    const packets: IngestPacket[] = [];
    const reader = new TransportReader((packet) => void packets.push(packet));
    for (let at = 0; at < bytes.length; at += size) {
      if (isLost(at / size)) reader.lose(1);
      else reader.push(Buffer.from(bytes.subarray(at, at + size)));
    }
    reader.flush();
    return { packets };
  };

  it.each([
    ['h264-aac.ts', 1316],
    // After 26.5 hours, timestamps begin again.
    ['time-wrap.ts', 1000],
  ] as const)('%s has all frames in pieces of %i bytes', async (file, size) => {
    const path = await fixture(file);
    const received = read(readFileSync(path), size);
    const video = packetsOf(received, 'video');
    const audio = packetsOf(received, 'audio');
    expect(video).toHaveLength(180);
    expect(audio.length).toBeGreaterThan(275);
    for (const packets of [video, audio])
      for (const [index, { dtsMs }] of packets.slice(1).entries()) {
        expect(dtsMs - packets[index]!.dtsMs).toBeGreaterThan(0);
        expect(dtsMs - packets[index]!.dtsMs).toBeLessThan(40);
      }
    expect(video.filter(({ isKey }) => isKey)).toHaveLength(3);
  });

  it('goes on with the next key frame after a loss of video', async () => {
    const bytes = readFileSync(await fixture('h264-aac.ts'));
    const whole = packetsOf(read(bytes, 1316), 'video');
    const cut = read(bytes, 1316, (piece) => piece === 40);
    const video = packetsOf(cut, 'video');
    const key = whole.findIndex(
      ({ isKey }, index) => isKey && index > 0 && !video.some(({ dtsMs }) => dtsMs === whole[index - 1]!.dtsMs),
    );
    expect(key).toBeGreaterThan(0);
    const times = new Set(video.map(({ dtsMs }) => dtsMs));
    const missing = whole.flatMap(({ dtsMs }, index) => (times.has(dtsMs) ? [] : [index]));
    // All from the one that was lost to the last one before the key frame.
    expect(missing).toEqual(Array.from({ length: missing.length }, (_, at) => key - missing.length + at));
    expect(video).toHaveLength(whole.length - missing.length);
  });
});

describe('a server', () => {
  let station: LiveStation;
  beforeAll(async () => {
    station = await LiveStation.open({ options: { SRT_PORT: '0' } });
  });
  afterAll(async () => {
    station?.close();
    await cleanUpServers();
  });

  it.each(['h264-aac.mp4', 'hevc-aac.mp4'] as const)('plays and records every frame of %s', async (file) => {
    const stream = await station.create();
    const url = await station.srtUrl(stream);
    expect(url).toMatch(new RegExp(`^srt://127\\.0\\.0\\.1:\\d+\\?streamid=${stream.stream_key}&passphrase=\\w{40}$`));
    const args = ['-re', '-i', await fixture(file), '-c', 'copy'];
    const refused = startPublisher(url.replace(/.$/, '_'), args);
    expect(await refused.output).toContain('Incorrect passphrase');
    expect(await station.told(stream.id)).not.toContain('connected');

    const sent = station.untilRead(stream, () => startPublisher(`${url}&linger=20`, args));
    const assetId = await station.untilActive(stream);
    expect(await station.retrieve(stream)).toMatchObject({ active_ingest_protocol: 'srt' });
    const playlist = await fetch(`${station.server.url}/${stream.playback_ids[0]!.id}.m3u8`);
    expect(playlist.status).toBe(200);
    await sent;
    await api(station.server, 'PUT', `/video/v1/live-streams/${stream.id}/complete`);
    const asset = await station.untilPlanned(assetId);
    expect(asset).toMatchObject({ status: 'ready', ingest_type: 'live_srt' });
    expect(asset.duration).toBeCloseTo(6, 1);
    expect(await station.counters(asset)).toEqual(Array.from({ length: SESSION_FRAMES }, (_, frame) => frame));
  });

  const isTaken = (port: number): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = createSocket('udp4').once('error', () => resolve(true));
      socket.bind(port, '127.0.0.1', () => socket.close(() => resolve(false)));
    });

  it('sends a broadcast to simulcast targets, with every frame', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'kinora-srt-'));
    const [path, port, copy] = [join(dir, 'service.ts'), await freePort(), await station.create()];
    const query = `passphrase=${PASSPHRASE}&pbkeylen=24`;
    const service = spawn(
      ffmpegPath!,
      ['-v', 'error', '-y', '-i', `srt://127.0.0.1:${port}?mode=listener&${query}`, '-c', 'copy', path],
      { stdio: 'ignore' },
    );
    const serviceEnded = once(service, 'close');
    try {
      await until('it listens', () => isTaken(port));
      const targets = [
        { url: await station.srtUrl(copy) },
        { url: `srt://127.0.0.1:${port}?${query}`, stream_key: 'of-service' },
        { url: (await station.srtUrl(copy)).replace(/.$/, '_') },
      ];
      const stream = await station.create({ simulcast_targets: targets });
      const publisher = station.publish(stream);
      const sent = [stream, copy].map((one) => station.untilRead(one, () => publisher));
      const assetId = await station.untilActive(copy);
      await Promise.all([...sent, serviceEnded]);
      const all = Array.from({ length: SESSION_FRAMES }, (_, frame) => frame);
      expect(readFrameCounters(path).map(({ counter }) => counter)).toEqual(all);
      for (const { id } of [stream, copy]) await api(station.server, 'PUT', `/video/v1/live-streams/${id}/complete`);
      expect(await station.counters(await station.untilPlanned(assetId))).toEqual(all);
      const { simulcast_targets: created } = stream as WireLiveStream & { simulcast_targets: { id: string }[] };
      const told = await Promise.all(created.map(async ({ id }) => (await station.told(id)).map(stateOf)));
      expect(told.slice(0, 2)).toEqual(Array(2).fill(['created', 'starting', 'broadcasting', 'idle']));
      expect(told[2]!.slice(0, 3)).toEqual(['created', 'starting', 'errored']);
      const log = JSON.stringify(station.server.log().filter((line) => 'simulcast_target_id' in line));
      expect(log).toContain('srt_1010');
      for (const secret of [PASSPHRASE, copy.stream_key]) expect(log).not.toContain(secret);
    } finally {
      service.kill('SIGKILL');
      rmSync(dir, { recursive: true });
    }
  });
  const stateOf = (type: string): string => type.replace('simulcast_target.', '');
});

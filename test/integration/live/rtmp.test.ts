import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import type { Publication, PublishRequest, Refusal } from '#kinora/live/ingest.js';
import { RtmpServer, type RtmpServerOptions } from '#kinora/live/rtmp/rtmp-server.js';
import { fixture } from '../../support/media/fixtures.js';
import { publishFile } from '../../support/media/publish-file.js';
import { readSentPackets } from '../../support/media/sent-packets.js';
import { memoryLogger } from '../../support/memory-logger.js';
import { MemoryTarget, packetsOf, type Received } from '../../support/memory-target.js';
import { runScript } from '../../support/processes/child.js';
import { type Publisher, startPublisher } from '../../support/processes/publisher.js';
import { selfSigned } from '../../support/servers/self-signed.js';
import { until } from '../../support/servers/server-process.js';
import { chunksOf, openingBytes } from '../../support/wire/rtmp-bytes.js';

const KEY = 'c8f3a2d1-stream-key';
const OTHER_KEY = 'd94e0b72-stream-key';

const servers: RtmpServer[] = [];
const publishers: Publisher[] = [];
afterEach(async () => {
  for (const { process } of publishers.splice(0)) process.kill('SIGKILL');
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

const start = async (options: Partial<RtmpServerOptions> = {}) => {
  const target = new MemoryTarget([KEY, OTHER_KEY]);
  const logger = memoryLogger();
  const server = await RtmpServer.start({ host: '127.0.0.1', port: 0, target, logger, ...options });
  servers.push(server);
  const url = `${options.tls ? 'rtmps' : 'rtmp'}://127.0.0.1:${server.port}/app`;
  return { server, target, logger, url };
};

const tlsFiles = () => {
  const directory = mkdtempSync(join(tmpdir(), 'rtmps-'));
  const files = { certPath: join(directory, 'cert.pem'), keyPath: join(directory, 'key.pem') };
  writeFileSync(files.certPath, selfSigned.cert);
  writeFileSync(files.keyPath, selfSigned.key);
  return files;
};

const publish = (url: string, ...args: readonly string[]): Publisher => {
  const publisher = startPublisher(url, args);
  publishers.push(publisher);
  return publisher;
};

const digest = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex');

const ended = async (target: MemoryTarget, index = 0): Promise<Received> => {
  await until('the publication ends', () => target.publications[index]?.endReason !== undefined);
  return target.publications[index]!;
};

/**
 * Compares what has arrived with the packets of the file: bytes exactly, times to a millisecond.
 */
const expectAllOf = async (received: Received, path: string, offsetMs = 0): Promise<void> => {
  const sent = await readSentPackets(path);
  const video = packetsOf(received, 'video');
  const audio = packetsOf(received, 'audio');
  expect(video.map(({ data }) => digest(data))).toEqual(sent.video.map(({ digest }) => digest));
  expect(audio.map(({ data }) => digest(data))).toEqual(sent.audio.map(({ digest }) => digest));
  expect(video.map(({ isKey }) => isKey)).toEqual(sent.video.map(({ isKey }) => isKey));
  const firstMs = Math.min(...[...sent.video, ...sent.audio].map(({ dtsMs }) => dtsMs));
  for (const [packets, expected] of [
    [video, sent.video],
    [audio, sent.audio],
  ] as const) {
    for (const [index, { dtsMs }] of packets.entries())
      expect(Math.abs(dtsMs - offsetMs - (expected[index]!.dtsMs - firstMs))).toBeLessThanOrEqual(1.01);
  }
  for (const [index, { compositionMs }] of video.entries())
    expect(Math.abs(compositionMs - sent.video[index]!.compositionMs)).toBeLessThanOrEqual(1.01);
};

describe('FFmpeg of the system', () => {
  it('sends H.264 with B-frames and AAC', async () => {
    const { target, url, logger } = await start();
    const path = await fixture('h264-aac.mp4');
    await publish(`${url}/${KEY}`, '-i', path, '-c', 'copy').output;
    const received = await ended(target);
    await expectAllOf(received, path);
    expect(
      received.packets
        .map(({ kind }) => kind)
        .slice(0, 3)
        .sort(),
    ).toEqual(['audio-config', 'metadata', 'video-config']);
    expect(packetsOf(received, 'metadata')[0]).toEqual({ kind: 'metadata', frameRate: 30 });
    expect(packetsOf(received, 'video').some(({ compositionMs }) => compositionMs > 34)).toBe(true);
    expect(JSON.stringify(logger.lines)).not.toContain(KEY);
  });

  it('sends audio only', async () => {
    const { target, url } = await start();
    const path = await fixture('audio-only.m4a');
    await publish(`${url}/${KEY}`, '-i', path, '-c', 'copy').output;
    const received = await ended(target);
    expect(packetsOf(received, 'video-config')).toEqual([]);
    await expectAllOf(received, path);
  });

  it('sends video only', async () => {
    const { target, url } = await start();
    const path = await fixture('h264-aac.mp4');
    await publish(`${url}/${KEY}`, '-i', path, '-c', 'copy', '-an').output;
    const received = await ended(target);
    expect(packetsOf(received, 'audio-config')).toEqual([]);
    const sent = await readSentPackets(path);
    expect(packetsOf(received, 'video')).toHaveLength(sent.video.length);
  });

  // 2^24 ms are 16,777.216 s: the timestamps of the first messages, or of those after 7 s, need
  // 32 bits.
  it.each([16_770, 16_800])('sends timestamps of more than 24 bits from %i s on', async (offset) => {
    const { target, url } = await start();
    const path = await fixture('growing.ts');
    await publish(`${url}/${KEY}`, '-i', path, '-t', '12', '-c', 'copy', '-output_ts_offset', String(offset)).output;
    const received = await ended(target);
    const times = packetsOf(received, 'video').map(({ dtsMs }) => dtsMs);
    expect(times[0]! / 1000).toBeGreaterThan(offset - 1);
    expect(times.at(-1)!).toBeGreaterThan(2 ** 24 + 3000);
    for (const [index, time] of times.slice(1).entries()) {
      expect(time - times[index]!).toBeGreaterThan(0);
      expect(time - times[index]!).toBeLessThan(200);
    }
  });

  it('sends over TLS', async () => {
    const { target, url } = await start({ tls: tlsFiles() });
    const path = await fixture('h264-aac.mp4');
    await publish(`${url}/${KEY}`, '-i', path, '-c', 'copy').output;
    await expectAllOf(await ended(target), path);
  });

  it('is told that the stream key is wrong, which is not logged', async () => {
    const { target, url, logger } = await start();
    const path = await fixture('h264-aac.mp4');
    const output = await publish(`${url}/wrong-key-5d1c`, '-i', path, '-c', 'copy').output;
    expect(output).toContain('No stream has this key.');
    expect(target.publications).toEqual([]);
    expect(logger.lines).toEqual([
      {
        level: 'info',
        message: 'RTMP encoder refused',
        fields: { peer: '127.0.0.1', reason: 'No stream has this key.' },
      },
    ]);
  });

  it('is told that another encoder publishes', async () => {
    const { target, url } = await start();
    const path = await fixture('h264-aac.mp4');
    publish(`${url}/${KEY}`, '-re', '-stream_loop', '-1', '-i', path, '-c', 'copy');
    await until('the first publishes', () => target.publications[0]?.packets.some(({ kind }) => kind === 'video'));
    const output = await publish(`${url}/${KEY}`, '-i', path, '-c', 'copy').output;
    expect(output).toContain('Another encoder is sending this stream.');
    await publish(`${url}/${OTHER_KEY}`, '-i', path, '-c', 'copy').output;
    await expectAllOf(await ended(target, 1), path);
    expect(target.publications[0]!.endReason).toBeUndefined();
  });

  it('is told which codec to set', async () => {
    const { target, url, logger } = await start();
    const path = await fixture('h264-aac.mp4');
    const output = await publish(`${url}/${KEY}`, '-re', '-i', path, '-c:v', 'flv1', '-c:a', 'copy').output;
    const reason =
      'The video codec is Sorenson H.263. Set the video encoder to H.264 (or to HEVC or AV1 with Enhanced RTMP).';
    expect((await ended(target)).endReason).toBe(reason);
    expect(output).toContain(reason);
    expect(logger.lines.filter(({ fields }) => fields.reason === reason)).toHaveLength(1);
  });

  it('is disconnected when it stalls', async () => {
    const { target, url } = await start({ limits: { idleTimeoutMs: 2000 } });
    const path = await fixture('h264-aac.mp4');
    const { process } = publish(`${url}/${KEY}`, '-re', '-stream_loop', '-1', '-i', path, '-c', 'copy');
    await until('it publishes', () => (target.publications[0]?.packets.length ?? 0) > 10);
    process.kill('SIGSTOP');
    expect((await ended(target)).endReason).toBe('The encoder has stopped sending.');
  });

  it('is not disconnected because the server itself was blocked', async () => {
    const { target, url } = await start({ limits: { idleTimeoutMs: 2000 } });
    const path = await fixture('h264-aac.mp4');
    publish(`${url}/${KEY}`, '-re', '-stream_loop', '-1', '-i', path, '-c', 'copy');
    const received = () => target.publications[0]?.packets.length ?? 0;
    await until('it publishes', () => received() > 10);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);
    const before = received();
    await until('it goes on', () => received() > before + 100 || target.publications[0]!.endReason !== undefined);
    expect(target.publications[0]!.endReason).toBeUndefined();
  });

  it('is told that the server stops', async () => {
    const { server, target, url } = await start();
    const path = await fixture('h264-aac.mp4');
    const { output } = publish(`${url}/${KEY}`, '-re', '-stream_loop', '-1', '-i', path, '-c', 'copy');
    await until('it publishes', () => (target.publications[0]?.packets.length ?? 0) > 10);
    await server.stop();
    servers.splice(0);
    expect(target.publications[0]!.endReason).toBe('The server is stopping.');
    expect(await output).toContain('The server is stopping.');
  });
});

it('reads everything of an encoder that has ended while the server was busy', async () => {
  const target = new MemoryTarget([KEY]);
  const publishToBusy = async (request: PublishRequest): Promise<Publication | Refusal> => {
    const publication = await target.publish(request);
    if ('reason' in publication) return publication;
    const write: Publication['write'] = (packet) => {
      publication.write(packet);
      const isFirst = target.publications[0]!.packets.length === 1;
      if (isFirst) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
    };
    return { ...publication, write };
  };
  const { server } = await start({ target: { publish: publishToBusy } });
  const frames = Array.from({ length: 1200 }, (_, index) => {
    const payload = Buffer.concat([Buffer.from('1701000000', 'hex'), Buffer.alloc(1000, index), Buffer.of(index >> 8)]);
    return { payload, bytes: chunksOf({ typeId: 9, payload, timestamp: index * 33, streamId: 1 }) };
  });
  // It wants an acknowledgement every 10,000 bytes.
  const window = chunksOf({ typeId: 5, payload: Buffer.from('00002710', 'hex') }, { chunkStream: 2 });
  const config = chunksOf({ typeId: 9, payload: Buffer.from('1700000000000164', 'hex'), streamId: 1 });
  const directory = mkdtempSync(join(tmpdir(), 'rtmp-'));
  writeFileSync(join(directory, 'opening'), openingBytes(KEY));
  writeFileSync(join(directory, 'media'), Buffer.concat([window, config, ...frames.map(({ bytes }) => bytes)]));
  const encoder = `import { readFileSync } from 'node:fs';
    import { connect } from 'node:net';
    const [, port, directory] = process.argv;
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.write(readFileSync(directory + '/opening'));
    socket.on('data', (data) => {
      if (data.includes('Publish.Start')) socket.end(readFileSync(directory + '/media'), () => socket.destroy());
    });`;
  await runScript(encoder, [String(server.port), directory]).closed;
  const received = packetsOf(await ended(target), 'video').map(({ data }) => digest(data));
  expect(received).toEqual(frames.map(({ payload }) => digest(payload.subarray(5))));
});

describe('RTMPS', () => {
  const connectTls = async (server: RtmpServer) => {
    const socket = connect({ host: '127.0.0.1', port: server.port, ca: selfSigned.cert });
    await once(socket, 'secureConnect');
    return socket;
  };

  it('takes a renewed certificate, and keeps the old one while the new one is unusable', async () => {
    const tls = tlsFiles();
    const { server, logger } = await start({ tls, tlsFilesMs: 20 });
    const messages = () => logger.lines.map(({ message }) => message);
    writeFileSync(tls.certPath, 'half of a certificate');
    await until('it is noticed', () => messages().includes('RTMPS certificate not reloaded'));
    (await connectTls(server)).destroy();
    writeFileSync(tls.certPath, selfSigned.cert);
    await until('it is renewed', () => messages().includes('RTMPS certificate reloaded'));
    (await connectTls(server)).destroy();
  });

  it('does not start with a certificate that can not be read', async () => {
    const { certPath, keyPath } = tlsFiles();
    for (const tls of [
      { certPath: keyPath, keyPath },
      { certPath: `${certPath}.missing`, keyPath },
    ])
      await expect(start({ tls })).rejects.toMatchObject({
        code: 'unavailable',
        message: 'The certificate or the key of RTMPS can not be used.',
      });
  });

  it('counts connections until they are closed, whatever they speak', async () => {
    const { server } = await start({ tls: tlsFiles(), limits: { connectionsPerAddress: 1, publishTimeoutMs: 3000 } });
    const silent = connectTcp(server.port, '127.0.0.1');
    await once(silent, 'connect');
    await once(connectTcp(server.port, '127.0.0.1').resume(), 'close');
    await once(silent.resume(), 'close');
    const plain = connectTcp(server.port, '127.0.0.1', () => plain.write(Buffer.alloc(3000, 3)));
    await once(plain.on('error', () => {}).resume(), 'close');
    for (let round = 0; round < 3; round++) {
      const socket = await connectTls(server);
      socket.end();
      await once(socket.resume(), 'close');
      await until('the server has noticed', () => server.connectionCount === 0);
    }
  });
});

describe('Enhanced RTMP', () => {
  it.each([
    ['h264-aac.mp4', 'avc'],
    ['hevc-aac.mp4', 'hevc'],
    ['av1-aac.mp4', 'av1'],
  ] as const)('brings %s', async (name, codec) => {
    const { target, url } = await start();
    const path = await fixture(name);
    await publishFile(path, `${url}/${KEY}`);
    const received = await ended(target);
    expect(packetsOf(received, 'video-config')[0]!.config.codec).toBe(codec);
    await expectAllOf(received, path);
  });
});

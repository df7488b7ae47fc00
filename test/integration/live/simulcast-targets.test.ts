/** What simulcast targets do to the sender: real sockets, and pauses that the tests shorten. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { LiveStates, SimulcastTarget } from '#kinora/domain/live/live-states.js';
import { systemClock } from '#kinora/lib/clock.js';
import { AttemptLimit } from '#kinora/live/attempt-limit.js';
import type { IngestPacket, IngestTarget } from '#kinora/live/ingest.js';
import { RtmpServer, type RtmpServerOptions } from '#kinora/live/rtmp/rtmp-server.js';
import { RtmpSession } from '#kinora/live/rtmp/rtmp-session.js';
import { Simulcast, type SimulcastDeps } from '#kinora/live/simulcast/simulcast.js';
import { ConnectionClient, type ConnectionClientOptions } from '#kinora/net/connection-client.js';
import { fixture } from '../../support/media/fixtures.js';
import { readFlvPackets } from '../../support/media/flv-packets.js';
import { publishFile } from '../../support/media/publish-file.js';
import { readSentPackets } from '../../support/media/sent-packets.js';
import { memoryLogger } from '../../support/memory-logger.js';
import { MemoryTarget } from '../../support/memory-target.js';
import { startRtmpListener } from '../../support/processes/rtmp-listener.js';
import { freePort } from '../../support/servers/free-port.js';
import { selfSigned } from '../../support/servers/self-signed.js';
import { until } from '../../support/servers/server-process.js';

const KEY = 'target-key-7731';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const listen = async (options: Partial<RtmpServerOptions> = {}, keys = [KEY]) => {
  const target = new MemoryTarget(keys);
  const server = await RtmpServer.start({ host: '127.0.0.1', port: 0, target, logger: memoryLogger(), ...options });
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (!isStopped) await server.stop();
    isStopped = true;
  };
  ends.push(stop);
  return { target, port: server.port, stop };
};

const targetAt = (port: number, host = '127.0.0.1', protocol = 'rtmp'): SimulcastTarget => ({
  id: `target-${port}`,
  url: `${protocol}://${host}:${port}/app`,
  streamKey: KEY,
});

interface Options extends Pick<SimulcastDeps, 'pauseMs' | 'stallMs'> {
  readonly client?: Partial<ConnectionClientOptions>;
  readonly audioOnly?: boolean;
}

/** Sends to targets as a broadcast does, and keeps what it would save. */
const open = (
  targets: readonly SimulcastTarget[],
  { client, pauseMs = () => 5, stallMs, audioOnly = false }: Options = {},
) => {
  const saved: string[] = [];
  const states = {
    simulcastTargets: async () => targets,
    simulcast: async (_: string, targetId: string, status: string, severity?: string) => {
      const place = targets.length > 1 ? `${targetId} ` : '';
      saved.push(`${place}${status}${severity ? ` ${severity}` : ''}`);
    },
    warnStream: async (_: string, { message }: { message: string }) => {
      saved.push(message);
    },
  } as unknown as LiveStates;
  let last: Promise<unknown> = Promise.resolve();
  const logger = memoryLogger();
  const simulcast = new Simulcast({
    opener: new ConnectionClient({ allowPrivate: true, ...client }),
    clock: systemClock,
    logger,
    audioOnly,
    save: (change) => {
      last = last.then(() => change(states, 'live'));
    },
    pauseMs,
    confirmMs: 50,
    ...(stallMs !== undefined && { stallMs }),
  });
  ends.push(() => simulcast.end());
  simulcast.begin();
  return { simulcast, saved, logger };
};

const configs: readonly IngestPacket[] = [
  { kind: 'video-config', config: { codec: 'avc', record: Buffer.from('0164001fffe1', 'hex') } },
  { kind: 'audio-config', config: { codec: 'aac', record: Buffer.from('1190', 'hex') } },
];
const videoAt = (dtsMs: number, isKey: boolean, bytes = 100): IngestPacket => ({
  ...{ kind: 'video', dtsMs, compositionMs: 0, isKey },
  data: Buffer.alloc(bytes, 1),
});

/** Sends 50 frames a second, each fifth a key frame, until it is stopped. */
const sendForever = (simulcast: Simulcast): void => {
  for (const config of configs) simulcast.write(config);
  let frame = 0;
  const timer = setInterval(() => {
    simulcast.write(videoAt(frame * 20, frame % 5 === 0));
    frame += 1;
  }, 20);
  ends.push(() => clearInterval(timer));
};

const kindsOf = (packets: readonly IngestPacket[]): string[] =>
  packets.map((packet) => (packet.kind === 'video' && packet.isKey ? 'key' : packet.kind));

it('gives up after six refusals in a row, for the rest of the broadcast', async () => {
  const { target, port } = await listen({}, []);
  const pauses: number[] = [];
  const { simulcast, saved, logger } = open([targetAt(port)], { pauseMs: (failures) => pauses.push(failures) });
  sendForever(simulcast);
  await until('it gives up', () => saved.includes('errored fatal'));
  const message = expect.stringContaining('NetStream.Publish.BadName');
  expect(saved).toEqual(['starting', ...Array(5).fill('errored normal'), 'errored fatal', message]);
  expect(pauses).toEqual([1, 2, 3, 4, 5]);
  await simulcast.end();
  simulcast.begin();
  await until('it tells so again', () => saved.length === 9);
  expect(saved.at(-1)).toBe('errored fatal');
  expect(target.publications).toEqual([]);
  expect(JSON.stringify(logger.lines)).not.toContain(KEY);
  expect(JSON.stringify(logger.lines)).not.toContain('127.0.0.1');
});

it('takes a service that accepts every stream and hangs up for one that refuses', async () => {
  const hangingUp: IngestTarget = {
    publish: async ({ disconnect }) => ({
      ...{ liveStreamId: 'live', end: () => undefined },
      write: () => disconnect('not this one'),
    }),
  };
  const { port } = await listen({ target: hangingUp });
  const { simulcast, saved } = open([targetAt(port)]);
  sendForever(simulcast);
  await until('it gives up', () => saved.includes('errored fatal'));
  expect(saved.slice(0, -1)).toEqual(['starting', ...Array(5).fill('errored normal'), 'errored fatal']);
});

it('tries a service that is away again and again, and begins with headers and a key frame', async () => {
  const port = await freePort();
  const { simulcast, saved } = open([targetAt(port)], { pauseMs: () => 20 });
  sendForever(simulcast);
  await until('it has failed often', () => saved.filter((text) => text === 'errored normal').length > 8);
  const first = await listen({ port });
  await until('it broadcasts', () => saved.at(-1) === 'broadcasting');
  await first.stop();
  await until('it is lost', () => saved.at(-1) === 'errored normal');
  const second = await listen({ port });
  await until('frames arrive', () => (second.target.publications[0]?.packets.length ?? 0) > 10);
  for (const { target } of [first, second])
    expect(kindsOf(target.publications[0]!.packets).slice(0, 4)).toEqual([
      ...['metadata', 'video-config', 'audio-config', 'key'],
    ]);
  await simulcast.end();
  expect(second.target.publications[0]!.endReason).toBe('The encoder has ended the stream.');
  expect(new Set(saved)).toEqual(new Set(['starting', 'errored normal', 'broadcasting']));
});

it.each([
  ['an address', targetAt(1935), {}],
  ['an address by SRT', { id: 'target', url: 'srt://127.0.0.1:9000', streamKey: null }, {}],
  ['a name with an internal address', targetAt(1935, 'inside.example.com'), {}],
  ['metadata services, always', targetAt(1935, '169.254.169.254'), { allowPrivate: true }],
])('never connects to %s that is not allowed', async (_, target, client) => {
  const resolve = async () => [
    { address: '203.1.113.9', family: 4 },
    { address: '10.0.0.1', family: 4 },
  ];
  const { saved } = open([target], { client: { allowPrivate: false, resolve, ...client } });
  await until('it is refused', () => saved.length === 3);
  expect(saved).toEqual(['starting', 'errored fatal', expect.stringContaining('--allow-private-sources')]);
});

it('connects to the address that was checked', async () => {
  const { target, port } = await listen();
  const names: string[] = [];
  // A second lookup would get an address that is not allowed.
  const resolve = async (name: string) => {
    names.push(name);
    return [{ address: names.length === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }];
  };
  const { simulcast } = open([targetAt(port, 'rebinding.example.com')], {
    client: { allowPrivate: ['127.0.0.1/32'], resolve },
  });
  sendForever(simulcast);
  await until('frames arrive', () => (target.publications[0]?.packets.length ?? 0) > 5);
  expect(names).toEqual(['rebinding.example.com']);
});

it.each([
  ['srt://192.0.2.1:9000?mode=listener', null, 'is not usable'],
  ['rtmp://192.0.2.1/app', null, 'is not usable'],
])('fails at once with %s', async (url, streamKey, message) => {
  const { saved } = open([{ id: 'target', url, streamKey }]);
  await until('it is refused', () => saved.length === 3);
  expect(saved).toEqual(['starting', 'errored fatal', expect.stringContaining(message)]);
});

it('checks the certificate of RTMPS', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'simulcast-'));
  const tls = { certPath: join(directory, 'cert.pem'), keyPath: join(directory, 'key.pem') };
  writeFileSync(tls.certPath, selfSigned.cert);
  writeFileSync(tls.keyPath, selfSigned.key);
  const { target, port } = await listen({ tls });
  const refused = open([targetAt(port, '127.0.0.1', 'rtmps')], { pauseMs: () => 60_000 });
  sendForever(refused.simulcast);
  await until('it is refused', () => refused.saved.length === 2);
  expect(refused.saved).toEqual(['starting', 'errored normal']);
  expect(refused.logger.lines.at(-1)).toMatchObject({ fields: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } });
  expect(target.publications).toEqual([]);
  await refused.simulcast.end();

  const trusted = open([targetAt(port, '127.0.0.1', 'rtmps')], { client: { ca: selfSigned.cert } });
  sendForever(trusted.simulcast);
  await until('frames arrive', () => (target.publications[0]?.packets.length ?? 0) > 5);
  await until('it broadcasts', () => trusted.saved.length === 2);
  expect(trusted.saved).toEqual(['starting', 'broadcasting']);
});

it('passes on what Enhanced RTMP encoders send, byte by byte', async () => {
  const received: Uint8Array[] = [];
  const sent: Uint8Array[] = [];
  const keep = (bodies: Uint8Array[], also?: Simulcast): IngestTarget => ({
    publish: async () => ({
      ...{ liveStreamId: 'live', end: () => undefined },
      write: (packet, flvBody) => {
        bodies.push(Buffer.from(flvBody!));
        also?.write(packet, flvBody);
      },
    }),
  });
  const service = await listen({ target: keep(received) });
  const { simulcast } = open([targetAt(service.port)]);
  const ingest = await listen({ target: keep(sent, simulcast) });
  await publishFile(await fixture('hevc-aac.mp4'), `rtmp://127.0.0.1:${ingest.port}/app/${KEY}`);
  await until('all has arrived', () => received.length >= sent.length);
  const text = (bodies: readonly Uint8Array[]): string[] => bodies.map((body) => Buffer.from(body).toString('base64'));
  // Headers come in another order.
  expect(text(received).sort()).toEqual(text(sent).sort());
  expect(text(received.slice(3))).toEqual(text(sent.slice(3)));
});

it('sends audio alone, without the metadata that announces video', async () => {
  const { target, port } = await listen();
  const { simulcast } = open([targetAt(port)], { audioOnly: true });
  const metadata = Buffer.from('02000a6f6e4d65746144617461', 'hex');
  simulcast.write({ kind: 'metadata', frameRate: 30 }, metadata);
  simulcast.write(configs[1]!, Buffer.from('af001190', 'hex'));
  for (let frame = 0; frame < 3; frame++)
    simulcast.write({ kind: 'audio', dtsMs: frame * 21, data: Buffer.of(frame) }, Buffer.of(0xaf, 1, frame));
  await until('it arrives', () => target.publications[0]?.packets.length === 4);
  expect(kindsOf(target.publications[0]!.packets)).toEqual(['audio-config', 'audio', 'audio', 'audio']);
});

it('writes what WebRTC encoders send as other programs read it', async () => {
  const path = await fixture('h264-aac.flv');
  const received = join(mkdtempSync(join(tmpdir(), 'simulcast-')), 'received.flv');
  const port = await freePort();
  const listener = await startRtmpListener(port, KEY, received);
  ends.push(() => listener.process.kill('SIGKILL'));
  const { simulcast, saved } = open([{ ...targetAt(port), url: `rtmp://127.0.0.1:${port}/live` }]);
  for (const packet of readFlvPackets(path)) simulcast.write(packet);
  await until('it is sent', () => saved.includes('broadcasting'));
  await simulcast.end();
  await listener.ended;
  expect(await readSentPackets(received)).toEqual(await readSentPackets(path));
});

/** A service that accepts the stream and then reads nothing. */
const listenDeaf = async (): Promise<number> => {
  const accepting: IngestTarget = {
    publish: async () => ({ liveStreamId: 'live', write: () => undefined, end: () => undefined }),
  };
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    const session = new RtmpSession({
      peer: '127.0.0.1',
      transport: {
        send: (bytes) => {
          socket.write(bytes);
          if (Buffer.from(bytes).includes('NetStream.Publish.Start')) setImmediate(() => socket.pause());
        },
        pause: () => undefined,
        resume: () => undefined,
        close: () => socket.destroy(),
      },
      target: accepting,
      failedKeys: new AttemptLimit(60, systemClock),
      logger: memoryLogger(),
      clock: systemClock,
      publishTimeoutMs: 10_000,
      idleTimeoutMs: 10_000,
    });
    socket.on('data', (data) => session.receive(data));
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
};

it('drops frames for a target that does not read, and for no other', async () => {
  const MIB = 2 ** 20;
  const deafPort = await listenDeaf();
  let receivedFrames = 0;
  const counting: IngestTarget = {
    publish: async () => ({
      ...{ liveStreamId: 'live', end: () => undefined },
      write: ({ kind }) => {
        if (kind === 'video') receivedFrames += 1;
      },
    }),
  };
  const healthy = await RtmpServer.start({ host: '127.0.0.1', port: 0, target: counting, logger: memoryLogger() });
  ends.push(() => healthy.stop());
  const { simulcast, saved, logger } = open([targetAt(deafPort), targetAt(healthy.port)], {
    stallMs: 1000,
    pauseMs: () => 60_000,
  });
  for (const config of configs) simulcast.write(config);
  simulcast.write(videoAt(0, true));
  await until('both broadcast', () => saved.filter((text) => text.includes('broadcasting')).length === 2);
  const before = process.memoryUsage().arrayBuffers;
  let mostBytes = 0;
  for (let frame = 1; frame <= 128; frame++) {
    simulcast.write(videoAt(frame * 20, frame % 8 === 0, MIB));
    await until('the healthy target has it', () => receivedFrames > frame);
    mostBytes = Math.max(mostBytes, process.memoryUsage().arrayBuffers - before);
  }
  // The queue, what the socket holds, and what is not collected yet.
  expect(mostBytes).toBeLessThan(100 * MIB);
  expect(logger.lines).toContainEqual({
    level: 'warn',
    message: 'simulcast target is slow: frames dropped',
    fields: { simulcast_target_id: `target-${deafPort}` },
  });
  await until('the other is lost', () => saved.includes(`target-${deafPort} errored normal`));
  expect(saved).not.toContain(`target-${healthy.port} errored normal`);
});

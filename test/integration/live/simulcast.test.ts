/** What simulcast targets receive of a broadcast, and what is told about them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readSentPackets, type SentPacket } from '../../support/media/sent-packets.js';
import { type RtmpListener, startRtmpListener } from '../../support/processes/rtmp-listener.js';
import { freePort } from '../../support/servers/free-port.js';
import { LiveStation, SESSION_FRAMES, type WireLiveStream } from '../../support/servers/live-station.js';
import { cleanUpServers, until } from '../../support/servers/server-process.js';
import { api } from '../../support/wire/create-asset.js';
import { eventsOf } from '../../support/wire/events.js';

interface WithTargets extends WireLiveStream {
  readonly simulcast_targets: readonly { readonly id: string; readonly status: string; error_severity?: string }[];
}

let root: string;
let station: LiveStation;
const listeners: RtmpListener[] = [];

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'kinora-simulcast-'));
  station = await LiveStation.open({ options: { ALLOW_PRIVATE_SOURCES: '127.0.0.0/8' } });
});
afterAll(async () => {
  station?.close();
  for (const { process } of listeners) process.kill('SIGKILL');
  await cleanUpServers();
  rmSync(root, { recursive: true, force: true });
});

const pathOf = (name: string): string => join(root, `${name}.flv`);
const startListener = async (port: number, name: string): Promise<RtmpListener> => {
  const listener = await startRtmpListener(port, `key-of-${name}`, pathOf(name));
  listeners.push(listener);
  return listener;
};

const told = async (targetId: string): Promise<string[]> =>
  (await eventsOf(station.server, targetId)).map(({ type, data }) =>
    [type.replace('video.live_stream.simulcast_target.', ''), data.error_severity].filter(Boolean).join(' '),
  );

const digests = (packets: readonly SentPacket[]): string[] => packets.map(({ digest }) => digest);

it('brings each frame unchanged to other live streams and services, also to one that comes late', async () => {
  const [other, ports] = [await station.create(), [await freePort(), await freePort()] as const];
  const whole = await startListener(ports[0], 'whole');
  const stream = (await station.create({
    simulcast_targets: [
      { url: `rtmp://127.0.0.1:${station.rtmpPort}/app`, stream_key: other.stream_key },
      { url: `rtmp://127.0.0.1:${ports[0]}/live`, stream_key: 'key-of-whole' },
      { url: `rtmp://127.0.0.1:${ports[1]}/live/key-of-late` },
      { url: `rtmp://[::1]:${station.rtmpPort}/app`, stream_key: 'key-of-forbidden' },
      { url: 'srt://127.0.0.1:9000?mode=listener&streamid=key-of-srt' },
    ],
  })) as WithTargets;
  const [copyId, wholeId, lateId, forbiddenId, srtId] = stream.simulcast_targets.map(({ id }) => id);
  const publisher = station.publish(stream, { loops: true });
  await until('the late one is tried', async () => (await told(lateId!)).includes('errored normal'));
  const late = await startListener(ports[1], 'late');
  await until('it receives the stream', async () => (await told(lateId!)).includes('broadcasting'));
  const { simulcast_targets: targets } = (await station.retrieve(stream)) as WithTargets;
  expect(targets.map(({ status, error_severity: severity }) => [status, severity])).toEqual([
    ['broadcasting', undefined],
    ['broadcasting', undefined],
    ['broadcasting', undefined],
    ['errored', 'fatal'],
    ['errored', 'fatal'],
  ]);
  const segments = SESSION_FRAMES / 30;
  const recording = await station.recordingId(await station.untilActive(other));
  await until('the file has begun again', async () => (await station.segments(recording)).length > segments);
  // It sends what it has, and ends.
  publisher.process.kill('SIGINT');
  await Promise.all([publisher.output, whole.ended, late.ended]);
  await until('all are idle', async () => (await told(lateId!)).at(-1) === 'idle');
  expect(await told(copyId!)).toEqual(['created', 'starting', 'broadcasting', 'idle']);
  expect(await told(wholeId!)).toEqual(['created', 'starting', 'broadcasting', 'idle']);
  expect(await told(lateId!)).toEqual(['created', 'starting', 'errored normal', 'broadcasting', 'idle']);
  for (const id of [forbiddenId, srtId])
    expect(await told(id!)).toEqual(['created', 'starting', 'errored fatal', 'idle']);

  const [sent, received, rest] = await Promise.all(
    [station.file, pathOf('whole'), pathOf('late')].map(readSentPackets),
  );
  const again = ({ length }: readonly SentPacket[], packets: readonly SentPacket[]): string[] =>
    Array.from({ length }, (_, at) => packets[at % packets.length]!.digest);
  expect(received!.video.slice(0, sent!.video.length)).toEqual(sent!.video);
  expect(received!.audio.slice(0, sent!.audio.length)).toEqual(sent!.audio);
  expect(digests(received!.video)).toEqual(again(received!.video, sent!.video));
  expect(digests(received!.audio)).toEqual(again(received!.audio, sent!.audio));
  expect(rest!.video[0]!.isKey).toBe(true);
  expect(rest!.video.length).toBeGreaterThan(30);
  expect(digests(rest!.video)).toEqual(digests(received!.video).slice(-rest!.video.length));

  const warnings = (await eventsOf(station.server, stream.id)).filter(({ type }) => type.endsWith('.warning'));
  expect(warnings.map(({ data }) => (data.warning as { message: string }).message)).toEqual([
    expect.stringContaining('not usable'),
    expect.stringContaining('address is not allowed'),
  ]);
  for (const key of [other.stream_key, 'key-of-', '127.0.0.1:', '::1']) expect(simulcastLog(), key).not.toContain(key);

  const assetId = (await station.retrieve(other)).active_asset_id!;
  for (const { id } of [stream, other]) await api(station.server, 'PUT', `/video/v1/live-streams/${id}/complete`);
  expect(await station.counters(await station.untilPlanned(assetId))).toEqual(
    received!.video.map((_, frame) => frame % SESSION_FRAMES),
  );
});

const simulcastLog = (): string => JSON.stringify(station.server.log().filter((line) => 'simulcast_target_id' in line));

it('ends the streams of targets when the server stops, and begins them again after it', async () => {
  const port = await freePort();
  const first = await startListener(port, 'first');
  const url = `rtmp://127.0.0.1:${port}/live`;
  const stream = (await station.create({
    simulcast_targets: [{ url, stream_key: 'key-of-first' }],
  })) as WithTargets;
  const { id } = stream.simulcast_targets[0]!;
  station.publish(stream, { loops: true });
  await until('it receives the stream', async () => (await told(id)).at(-1) === 'broadcasting');
  await until('there is a recording', async () => (await station.retrieve(stream)).active_asset_id !== undefined);
  await station.server.stop();
  await first.ended;
  await startListener(port, 'first-again');
  await station.start();
  expect((await told(id)).at(-1)).toBe('idle');
  station.publish(stream, { loops: true });
  await until('it receives the stream again', async () => (await told(id)).at(-1) === 'broadcasting');
});

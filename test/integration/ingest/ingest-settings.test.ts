import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { type LumaFrame, readAudio, readFrameCounters, readLuma } from '../../support/media/measure.js';
import { fetchBytes, mediaPlaylists, segmentsOf } from '../../support/players/play.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { until } from '../../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { type Receiver, startReceiver } from '../../support/servers/webhook-receiver.js';
import { api, createAsset, settled, type WireAsset } from '../../support/wire/create-asset.js';

const DAY_MS = 24 * 3600_000;

let server: Booted;
let origin: SlowOrigin;
let receiver: Receiver;
/** Hours pass when a test says so. */
let aheadMs = 0;
beforeAll(async () => {
  origin = await startSlowOrigin();
  const clock = { now: () => new Date(Date.now() + aheadMs), monotonicMs: () => performance.now() };
  receiver = await startReceiver();
  server = await boot({
    clock,
    options: { WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: 'a-secret-that-is-long-enough' },
  });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await receiver?.stop();
});

const create = async (name: Parameters<typeof fixture>[0], settings: object): Promise<WireAsset> => {
  const url = origin.add(name, await readFile(await fixture(name)));
  const { id } = await createAsset(server, { inputs: [{ url }], playback_policies: ['public'], ...settings });
  const asset = await settled(server, id);
  expect(asset.status).toBe('ready');
  return asset;
};

/** The files of the first rendition, or of the audio, as one input for measuring. */
const rendition = async ({ playback_ids: ids }: WireAsset, kind: 'video' | 'audio'): Promise<Buffer[]> => {
  const playlists = await mediaPlaylists(server.url, ids![0]!.id);
  const playlist = playlists.find((url) => url.includes('/audio/') === (kind === 'audio'))!;
  return Promise.all((await segmentsOf(playlist)).map(fetchBytes));
};

/**
 * The mark is a tenth as wide as the frame, five times as wide as high, and as far from the corner
 * as a fifth of its width.
 */
const expectMark = (plain: readonly LumaFrame[], marked: readonly LumaFrame[]): void => {
  for (const number of [0, 15, 299]) {
    const [{ luma, width, height }, { luma: below }] = [marked[number]!, plain[number]!];
    const [right, bottom] = [width * 0.98, height - width * 0.02];
    const changes = { inside: [] as number[], outside: [] as number[] };
    luma.forEach((value, at) => {
      const [x, y] = [at % width, Math.floor(at / width)];
      const isInside = x >= width * 0.88 && x < right && y >= bottom - width * 0.02 && y < bottom;
      changes[isInside ? 'inside' : 'outside'].push(value - below[at]!);
    });
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value / values.length, 0);
    // About half of it is lit, with 60 % of white.
    expect(mean(changes.inside), `frame ${number}`).toBeGreaterThan(30);
    expect(mean(changes.outside.map(Math.abs)), `frame ${number}`).toBeLessThan(5);
  }
};

describe('a test asset', () => {
  it('is cut to 10.0 s and gone after a day', async () => {
    const plain = await create('long.mp4', {});
    const marked = await create('long.mp4', { test: true });
    expect(plain).not.toHaveProperty('test');
    expect(marked).toMatchObject({ test: true, duration: 10 });
    expect(plain.duration).toBeCloseTo(20, 1);
    const [without, withMark] = [await rendition(plain, 'video'), await rendition(marked, 'video')];
    expect(readFrameCounters(without)).toHaveLength(600);
    expect(readFrameCounters(withMark)).toHaveLength(300);
    expectMark(readLuma(without), readLuma(withMark));
    const samples = readAudio(await rendition(marked, 'audio'));
    expect(samples.channels[0]!.length / samples.sampleRate).toBeCloseTo(10, 1);

    aheadMs = DAY_MS - 60_000;
    expect((await api(server, 'GET', `/video/v1/assets/${marked.id}`)).status).toBe(200);
    aheadMs = DAY_MS + 1000;
    const gone = async () => (await api(server, 'GET', `/video/v1/assets/${marked.id}`)).status === 404;
    await until('the test asset is deleted', gone);
    const deletions = () => receiver.received.filter(({ event }) => event.type === 'video.asset.deleted');
    await until('the event of its deletion', () => deletions().length > 0);
    expect(deletions().map(({ event }) => event.object)).toEqual([{ type: 'asset', id: marked.id }]);
    expect((await api(server, 'GET', `/video/v1/assets/${plain.id}`)).status).toBe(200);
  });
});

/** Of a 1 kHz tone in every channel: there the weighting of ITU-R BS.1770 cancels its constant. */
const toneLoudness = (input: Buffer[]): number => {
  const { channels } = readAudio(input);
  const power = channels.map((samples) => samples.reduce((sum, value) => sum + value * value, 0) / samples.length);
  return 10 * Math.log10(power.reduce((sum, value) => sum + value, 0));
};

describe('normalize_audio', () => {
  it('makes audio of -24 LUFS', async () => {
    const asset = await create('loudness.wav', { normalize_audio: true });
    expect(asset).toMatchObject({ normalize_audio: true, resolution_tier: 'audio-only' });
    expect(Math.abs(toneLoudness(await rendition(asset, 'audio')) + 24)).toBeLessThan(0.3);
  });

  it('leaves the audio as it is when it is not asked for', async () => {
    const asset = await create('loudness.wav', {});
    expect(Math.abs(toneLoudness(await rendition(asset, 'audio')) + 23)).toBeLessThan(0.3);
  });
});

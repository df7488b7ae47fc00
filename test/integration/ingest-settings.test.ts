import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Booted, boot } from '../support/boot.js';
import { api, createAsset, settled, type WireAsset } from '../support/create-asset.js';
import { fixture } from '../support/fixtures.js';
import { readAudio, readFrameCounters } from '../support/measure.js';
import { fetchBytes, mediaPlaylists, segmentsOf } from '../support/play.js';
import { until } from '../support/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../support/slow-origin.js';

const DAY_MS = 24 * 3600_000;

let server: Booted;
let origin: SlowOrigin;
/** Hours pass when a test says so. */
let aheadMs = 0;
beforeAll(async () => {
  origin = await startSlowOrigin();
  const clock = { now: () => new Date(Date.now() + aheadMs), monotonicMs: () => performance.now() };
  server = await boot({ clock });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

const create = async (name: Parameters<typeof fixture>[0], settings: object): Promise<WireAsset> => {
  const url = origin.add(name, await readFile(await fixture(name)));
  const { id } = await createAsset(server, { inputs: [{ url }], playback_policies: ['public'], ...settings });
  const asset = await settled(server, id);
  expect(asset.status).toBe('ready');
  return asset;
};

/** The files of the first rendition, or of the sound, as one input for measuring. */
const rendition = async ({ playback_ids: ids }: WireAsset, kind: 'video' | 'audio'): Promise<Buffer[]> => {
  const playlists = await mediaPlaylists(server.url, ids![0]!.id);
  const playlist = playlists.find((url) => url.includes('/audio/') === (kind === 'audio'))!;
  return Promise.all((await segmentsOf(playlist)).map(fetchBytes));
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
    const samples = readAudio(await rendition(marked, 'audio'));
    expect(samples.channels[0]!.length / samples.sampleRate).toBeCloseTo(10, 1);

    aheadMs = DAY_MS - 60_000;
    expect((await api(server, 'GET', `/video/v1/assets/${marked.id}`)).status).toBe(200);
    aheadMs = DAY_MS + 1000;
    const gone = async () => (await api(server, 'GET', `/video/v1/assets/${marked.id}`)).status === 404;
    await until('the test asset is deleted', gone, 10_000);
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
  it('makes sound of -24 LUFS', async () => {
    const asset = await create('loudness.wav', { normalize_audio: true });
    expect(asset).toMatchObject({ normalize_audio: true, resolution_tier: 'audio-only' });
    expect(Math.abs(toneLoudness(await rendition(asset, 'audio')) + 24)).toBeLessThan(0.3);
  });

  it('leaves the sound as it is when it is not asked for', async () => {
    const asset = await create('loudness.wav', {});
    expect(Math.abs(toneLoudness(await rendition(asset, 'audio')) + 23)).toBeLessThan(0.3);
  });
});

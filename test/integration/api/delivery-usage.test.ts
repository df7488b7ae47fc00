import { rm } from 'node:fs/promises';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newSecret, newUuid } from '#kinora/lib/ids.js';
import { fixture } from '../../support/media/fixtures.js';
import { fetchBytes, mediaPlaylists, segmentsOf } from '../../support/players/play.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { makeTestDataDir } from '../../support/servers/database.js';
import type { Origin } from '../../support/servers/origin.js';
import { createAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';

const token = { id: newUuid(), secret: newSecret() };
let dataDir: string;
let origin: Origin;
let server: Booted;
let video: WireAsset;
let audio: WireAsset;

const mux = () => new Mux({ baseURL: server.url, tokenId: token.id, tokenSecret: token.secret });

beforeAll(async () => {
  dataDir = await makeTestDataDir();
  origin = await serveFiles([await fixture('h264-aac.mp4'), await fixture('audio-only.m4a')]);
  server = await boot({ dataDir, token });
  const create = (at: number) =>
    createAsset(server, { inputs: [{ url: `${origin.url}/${at}` }], playback_policies: ['public'] });
  [video, audio] = await Promise.all([create(0), create(1)]);
  [video, audio] = await Promise.all([settled(server, video.id), settled(server, audio.id)]);
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

/** Segments of a media playlist, their lengths as the playlist tells them, and the init segment. */
const readPlaylist = async (url: string) => {
  const [init, ...segments] = await segmentsOf(url);
  const lengths = [...(await fetchBytes(url)).toString().matchAll(/#EXTINF:([\d.]+)/g)].map(([, text]) => Number(text));
  return { init: init!, segments, lengths };
};
const reportOf = async (assetId: string) => {
  const now = Math.floor(Date.now() / 1000);
  const timeframe = [String(now - 3600), String(now + 60)];
  return (await mux().video.deliveryUsage.list({ asset_id: assetId, timeframe })).data[0];
};
/** Memory is written every few seconds. */
const reportWith = async (assetId: string, seconds: number) => {
  await expect
    .poll(async () => (await reportOf(assetId))?.delivered_seconds ?? 0, { timeout: 120_000, interval: 500 })
    .toBeGreaterThan(seconds - 0.1);
  return (await reportOf(assetId))!;
};

test('whole segments of frames count, once each, and nothing else does', async () => {
  const playlists = await mediaPlaylists(server.url, video.playback_ids![0]!.id);
  const audioAt = playlists.findIndex((url) => url.includes('/audio/'));
  const [beside] = playlists.splice(audioAt, 1);
  const { init, segments, lengths } = await readPlaylist(playlists.at(-1)!);
  const audio = await readPlaylist(beside!);
  for (const url of [init, audio.init, ...audio.segments]) await fetchBytes(url);

  const first = await fetch(segments[0]!);
  await first.arrayBuffer();
  const ask = async (headers: Record<string, string>, method = 'GET') => {
    const response = await fetch(segments[0]!, { method, headers });
    await response.arrayBuffer();
    return response.status;
  };
  expect(await ask({}, 'HEAD')).toBe(200);
  expect(await ask({ 'if-none-match': first.headers.get('etag')! })).toBe(304);
  for (const range of ['bytes=0-99', 'bytes=0-99', 'bytes=100-', 'bytes=-1', 'bytes=1-'])
    expect(await ask({ range })).toBe(206);
  expect(await ask({ range: 'bytes=999999999-' })).toBe(416);
  await fetchBytes(segments[1]!);
  // A range that is the whole file is the whole file.
  const whole = await fetch(segments[1]!, { headers: { range: 'bytes=0-' } });
  expect(whole.status).toBe(206);
  await whole.arrayBuffer();

  const expected = lengths[0]! + 2 * lengths[1]!;
  const report = await reportWith(video.id, expected);
  expect(report.delivered_seconds).toBeCloseTo(expected, 2);
  expect(report).toEqual({
    asset_id: video.id,
    asset_state: 'ready',
    asset_duration: video.duration,
    asset_resolution_tier: '720p',
    asset_encoding_tier: 'baseline',
    asset_video_quality: 'basic',
    created_at: video.created_at,
    delivered_seconds: report.delivered_seconds,
    delivered_seconds_by_resolution: { tier_720p: report.delivered_seconds },
  });
});

test('audio alone counts by its segments', async () => {
  const [playlist] = await mediaPlaylists(server.url, audio.playback_ids![0]!.id);
  const { init, segments, lengths } = await readPlaylist(playlist!);
  for (const url of [init, ...segments]) await fetchBytes(url);
  const expected = lengths.reduce((sum, length) => sum + length, 0);
  const report = await reportWith(audio.id, expected);
  expect(report.delivered_seconds).toBeCloseTo(expected, 1);
  expect(report).toMatchObject({
    asset_resolution_tier: 'audio-only',
    delivered_seconds_by_resolution: { tier_audio_only: report.delivered_seconds },
  });
});

test('what was sent in the last moment is there after a restart, and after the asset is deleted', async () => {
  const before = (await reportOf(video.id))!.delivered_seconds;
  const playbackId = video.playback_ids![0]!.id;
  const playlists = await mediaPlaylists(server.url, playbackId);
  const { segments, lengths } = await readPlaylist(playlists.find((url) => !url.includes('/audio/'))!);
  await fetchBytes(segments[0]!);
  await mux().video.assets.delete(video.id);
  await server.stop();
  server = await boot({ dataDir, token });
  const report = (await reportOf(video.id))!;
  expect(report).toMatchObject({
    asset_state: 'deleted',
    asset_duration: video.duration,
    deleted_at: expect.stringMatching(/^\d{10}$/),
  });
  expect(report.delivered_seconds).toBeCloseTo(before + lengths[0]!, 2);
});

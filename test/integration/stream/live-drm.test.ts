/** What is on air under DRM playback IDs: playlists, encrypted parts and segments, licenses. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readFrameCounters, readPacketBytes } from '../../support/media/measure.js';
import { withFolder } from '../../support/media/video-run.js';
import { bytesOf, tencOf } from '../../support/players/drm-playback.js';
import { type LivePlaylist, parseLivePlaylist } from '../../support/players/live-playlist.js';
import { LiveRules } from '../../support/players/live-rules.js';
import { type OnAir, startLivePlayback } from '../../support/players/on-air.js';
import { inSeconds, signToken } from '../../support/players/playback-token.js';
import { packageDecrypted, packageEncrypted, readSamples } from '../../support/players/shaka-packager.js';

let live: Awaited<ReturnType<typeof startLivePlayback>>;
let onAir: OnAir;
let signingKey: { readonly keyId: string; readonly keySecret: string };

beforeAll(async () => {
  live = await startLivePlayback();
  onAir = await live.goOnAir(await live.addStream(), { firstNumber: 40 });
  onAir.broadcast.growTo(9);
  const { id, private_key } = await live.server.sdk().system.signingKeys.create();
  signingKey = { keyId: id, keySecret: private_key! };
});
afterAll(() => live?.stop());

const get = (path: string, headers: Record<string, string> = {}) => fetch(`${live.server.origin}${path}`, { headers });
const statusOf = async (path: string) => {
  const response = await get(path);
  return `${response.status} ${(await response.text()).slice(0, 120)}`;
};
const token = (sub: string, aud: string, claims: object = {}) =>
  signToken(signingKey, { kid: signingKey.keyId, sub, aud, exp: inSeconds(600), ...claims });
const multivariantOf = async (id: string, claims: object = {}) =>
  (await get(`/${id}.m3u8?token=${token(id, 'v', claims)}`)).text();

/** The playlist of a track, and where it is. */
const openTrack = async (id: string, rendition: string, claims: object = {}) => {
  const [path] = new RegExp(`[^"\\n]+/${rendition}/playlist\\.m3u8[^"\\n]*`).exec(await multivariantOf(id, claims))!;
  const text = await (await get(`/${path}`)).text();
  expect(new LiveRules().check(text)).toEqual([]);
  return { path: `/${path}`, text, ...parseLivePlaylist(text) };
};
const fileOf = ({ path }: { readonly path: string }, name: string) => path.replace(/playlist\.m3u8.*/, name);
const load = async (track: { readonly path: string }, name: string) => bytesOf(await get(fileOf(track, name)));

const license = (id: string, kids: readonly Buffer[], query = `?token=${token(id, 'd')}`) =>
  fetch(`${live.server.origin}/license/clearkey/${id}${query}`, {
    method: 'POST',
    body: JSON.stringify({ kids: kids.map((kid) => kid.toString('base64url')), type: 'temporary' }),
  });
const keyOf = async (id: string, kid: Buffer): Promise<Buffer> => {
  const { keys } = (await (await license(id, [kid])).json()) as { keys: { k: string }[] };
  return Buffer.from(keys[0]!.k, 'base64url');
};
const decrypt = (files: readonly Buffer[], key: Parameters<typeof packageDecrypted>[2]): Buffer =>
  withFolder((folder) => packageDecrypted(folder, Buffer.concat(files), key));
const keyLines = (text: string, tag = 'KEY') => text.split('\n').filter((line) => line.startsWith(`#EXT-X-${tag}:`));
const ids = () => [onAir.stream, onAir.asset];

test('playlists have the key tags of other assets, before the first init segment', async () => {
  for (const { drmId, publicId } of ids()) {
    const multivariant = await multivariantOf(drmId);
    expect(keyLines(multivariant, 'SESSION-KEY')).toHaveLength(8);
    for (const rendition of ['180p', 'audio']) {
      const { text, path } = await openTrack(drmId, rendition);
      const keys = keyLines(text);
      const formats = keys.map((line) => /KEYFORMAT="([^"]+)"/.exec(line)![1]);
      expect(formats).toEqual([
        'urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed',
        'com.microsoft.playready',
        'com.apple.streamingkeydelivery',
        'org.w3.clearkey',
      ]);
      expect(keys.at(-1)).toContain(`URI="${live.server.origin}/license/clearkey/${drmId}"`);
      expect(text.indexOf('#EXT-X-MAP')).toBeGreaterThan(text.lastIndexOf('#EXT-X-KEY'));
      // Another host name gets its own license URL, in the same state of the track.
      const forwarded = await get(path, { 'x-forwarded-host': 'video.example' });
      expect(keyLines(await forwarded.text())).toHaveLength(4);
      // A delta update has them too: they apply to the segments that it lists.
      expect(keyLines(await (await get(`${path}&_HLS_skip=YES`)).text())).toEqual(keys);
    }
    expect(keyLines(await (await get(`/${publicId}/live/180p/playlist.m3u8`)).text())).toEqual([]);
  }
});

const partNames = ({ segments }: LivePlaylist) => segments.flatMap(({ parts }) => parts.map(({ uri }) => uri));
const segmentNames = ({ segments }: LivePlaylist) => segments.flatMap(({ uri }) => uri ?? []);
const mapOf = ({ segments }: LivePlaylist) => segments[0]!.map!;

test('parts and segments decrypt to the frames of the encoder, each once', async () => {
  for (const { drmId, publicId } of ids()) {
    const clear = { path: `/${publicId}/live/180p/playlist.m3u8` };
    const track = await openTrack(drmId, '180p');
    const init = await load(track, mapOf(track));
    const { kid, iv } = tencOf(init);
    const key = await keyOf(drmId, kid);
    const parts = await Promise.all(partNames(track).map((name) => load(track, name)));
    const clearParts = await Promise.all(
      [mapOf(track), ...partNames(track)].map((name) => load(clear, name.split('?')[0]!)),
    );
    const countersOf = (files: readonly Buffer[]) => readFrameCounters(files).map(({ counter }) => counter);
    const counters = countersOf([decrypt([init, ...parts], { kid, key })]);
    expect(counters).toHaveLength(parts.length * 10);
    expect(counters).toEqual(countersOf(clearParts));

    const segments = await Promise.all(segmentNames(track).map((name) => load(track, name)));
    expect(countersOf([decrypt([init, ...segments], { kid, key })])).toEqual(
      Array.from({ length: segments.length * 60 }, (_, index) => index),
    );
    const [name] = segmentNames(track);
    const listed = track.segments.find(({ parts: of }) => of.length > 0)!;
    const ofSegment = await Promise.all(listed.parts.map(({ uri }) => load(track, uri)));
    expect((await load(track, listed.uri!)).equals(Buffer.concat(ofSegment))).toBe(true);

    const clearFiles = [await load(clear, mapOf(track).split('?')[0]!), await load(clear, name!.split('?')[0]!)];
    const theirs = withFolder((dir) => packageEncrypted(dir, Buffer.concat(clearFiles), { kid, iv, key }));
    expect(readSamples(segments[0]!).data.equals(readSamples(theirs).data)).toBe(true);
    expect(readSamples(segments[0]!).subsamples).toEqual(readSamples(theirs).subsamples);
  }
});

test('audio is encrypted with a key of its own', async () => {
  const { drmId, publicId } = onAir.stream;
  const track = await openTrack(drmId, 'audio');
  const clear = { path: `/${publicId}/live/audio/playlist.m3u8` };
  const [init, segment] = [await load(track, mapOf(track)), await load(track, segmentNames(track)[0]!)];
  const video = tencOf(await load(await openTrack(drmId, '180p'), mapOf(track)));
  const { kid } = tencOf(init);
  expect(kid.equals(video.kid)).toBe(false);
  const clearFiles = await Promise.all(
    [mapOf(track), segmentNames(track)[0]!].map((name) => load(clear, name.split('?')[0]!)),
  );
  expect(readSamples(segment).data.equals(readSamples(clearFiles[1]!).data)).toBe(false);
  const decrypted = decrypt([init, segment], { kid, key: await keyOf(drmId, kid) });
  expect(readPacketBytes([decrypted])).toEqual(readPacketBytes(clearFiles));
});

test('however many ask, a part is read and encrypted once', async () => {
  const other = await live.goOnAir(await live.addStream());
  other.broadcast.growTo(5);
  const track = await openTrack(other.stream.drmId, '180p');
  const read = vi.spyOn(other.broadcast, 'read');
  const { hint } = track;
  const waiting = Array.from({ length: 200 }, () => load(track, hint!));
  await vi.waitFor(() => expect(other.broadcast.waiting).toBe(200), { timeout: 60_000 });
  other.broadcast.growTo(5.5);
  const bodies = await Promise.all(waiting);
  expect(new Set(bodies.map((body) => body.toString('base64'))).size).toBe(1);
  // A later viewer of the recording gets the same bytes.
  const recording = await openTrack(other.asset.drmId, '180p');
  const later = await load(recording, recording.segments.at(-1)!.parts.at(-1)!.uri);
  expect(later.equals(bodies[0]!)).toBe(true);
  expect(read).toHaveBeenCalledTimes(1);
  read.mockRestore();
  const file = fileOf(track, hint!);
  const first = await get(file);
  expect(first.headers.get('cache-control')).toBe('private, max-age=3600');
  expect((await get(file, { 'if-none-match': first.headers.get('etag')! })).status).toBe(304);
  const range = await get(file, { range: 'bytes=700-899' });
  expect((await bytesOf(range)).equals(bodies[0]!.subarray(700, 900))).toBe(true);
});

test('the keys are those of the recording, and licenses need a token of their own', async () => {
  const { stream, asset } = onAir;
  const track = await openTrack(stream.drmId, '180p');
  const { kid } = tencOf(await load(track, mapOf(track)));
  const keys = await Promise.all([stream, asset].map(({ drmId }) => keyOf(drmId, kid)));
  expect(keys[0]!.equals(keys[1]!)).toBe(true);
  const id = stream.drmId;
  for (const [query, status] of [
    ['', 400],
    [`?token=${token(id, 'v')}`, 403],
    [`?token=${token(asset.drmId, 'd')}`, 403],
    [`?token=${token(id, 'd', { exp: 1 })}`, 403],
  ] as const)
    expect((await license(id, [kid], query)).status, query).toBe(status);
  const idle = await live.addStream();
  const refused = await license(idle.stream.drmId, [kid]);
  expect([refused.status, await refused.json()]).toEqual([412, { code: 9, message: 'Live stream is not active' }]);
});

test('nothing of it can be fetched in the clear', async () => {
  const clear = await bytesOf(await get(`/${onAir.stream.publicId}/live/180p/40.0.m4s`));
  const { drmId } = onAir.stream;
  for (const { drmId: id } of ids()) {
    for (const query of ['', `?token=${token(id, 'v')}`, `?token=${token(id, 'd')}`])
      for (const file of ['playlist.m3u8', 'init-40.mp4', '40.m4s', '40.0.m4s'])
        expect(await statusOf(`/${id}/live/180p/${file}${query}`)).toMatch(/^403/);
    expect(await statusOf(`/${id}.m3u8`)).toMatch(/^403/);
    expect(await statusOf(`/${id}.mpd?token=${token(id, 'v')}`)).toMatch(/^412 .*while live/);
    expect(await statusOf(`/${id}/highest.mp4?token=${token(id, 'v')}`)).toMatch(/^(403|412)/);
    // Images need a token for images, as those of other assets do.
    for (const query of ['', `?token=${token(id, 'v')}`])
      expect(await statusOf(`/${id}/thumbnail.jpg${query}`)).toMatch(/^403/);
    expect((await get(`/${id}/thumbnail.jpg?token=${token(id, 't')}`)).status).toBe(200);
    const page = await get(`/${id}?token=${token(id, 'v')}`, { accept: 'text/html' });
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('clearkey')]);
  }
  // The signature of one ID does not open another one, and names no other file.
  const track = await openTrack(drmId, '180p');
  const query = mapOf(track).split('?')[1];
  for (const path of [`/${onAir.stream.signedId}/live/180p/40.0.m4s`, `/${onAir.asset.drmId}/live/180p/40.0.m4s`])
    expect(await statusOf(`${path}?${query}`)).toMatch(/^403/);
  expect(await statusOf(`/${drmId}/live/audio/40.0.m4s?${query}`)).toMatch(/^403/);
  const encrypted = await load(track, `40.0.m4s?${query}`);
  const secret = readSamples(clear).data.subarray(-4000, -3000);
  expect([clear.includes(secret), encrypted.includes(secret)]).toEqual([true, false]);
});

test('tracks that can not be encrypted are left out, and it is said when nothing remains', async () => {
  const other = await live.goOnAir(await live.addStream());
  other.broadcast.growTo(5);
  const { drmId } = other.stream;
  const path = () => `/${drmId}.m3u8?token=${token(drmId, 'v')}`;
  const track = other.broadcast.track.bind(other.broadcast);
  vi.spyOn(other.broadcast, 'track').mockImplementation((name) => {
    const state = track(name);
    return state && { ...state, info: { ...state.info, codecs: name === '180p' ? 'hvc1.1.6.L93.B0' : 'mp4a.40.2' } };
  });
  const refused = '412 {"code":9,"message":"What the encoder sends can not be encrypted"}';
  expect(await statusOf(path())).toBe(refused);
  vi.restoreAllMocks();
  expect((await get(path())).status).toBe(200);
  // A part that is no fragment stands for one with too many slices.
  const damaged = await live.goOnAir(await live.addStream());
  damaged.broadcast.growTo(5);
  const read = vi.spyOn(damaged.broadcast, 'read').mockResolvedValue(new Uint8Array(64));
  const id = damaged.stream.drmId;
  expect(await statusOf(`/${id}.m3u8?token=${token(id, 'v')}`)).toBe(refused);
  read.mockRestore();
});

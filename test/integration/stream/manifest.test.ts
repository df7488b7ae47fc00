/** The DASH manifest of a playback id: its addresses, and who gets it. */
import { DOMParser, type Element } from '@xmldom/xmldom';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '#kinora/lib/ids.js';
import { fixture } from '../../support/media/fixtures.js';
import { type PlannedSource, planFile } from '../../support/media/video-run.js';
import { bytesOf, type DrmPlayback, drmPlayback, messageOf, tencOf } from '../../support/players/drm-playback.js';
import { type PreparedAsset, startPlayback } from '../../support/players/playback.js';
import { inSeconds, type OwnedKey, signToken } from '../../support/players/playback-token.js';

let server: Awaited<ReturnType<typeof startPlayback>>;
let source: PlannedSource;
let asset: PreparedAsset;
let preparing: PreparedAsset;
let key: OwnedKey;
let play: DrmPlayback;

beforeAll(async () => {
  server = await startPlayback();
  source = await planFile(await fixture('h264-aac.mp4'));
  asset = await server.addAsset(source, 'Harbour "walk" & <1>\u0001');
  preparing = await server.addAsset({ status: 'preparing' });
  const { id, private_key } = await server.sdk().system.signingKeys.create();
  key = { keyId: id, keySecret: private_key! };
  play = drmPlayback(server.origin, key, asset);
});
afterAll(() => server?.stop());

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${server.origin}${path}`, { method, headers });
const parse = async (response: Response): Promise<Element> =>
  new DOMParser().parseFromString(await response.text(), 'text/xml').documentElement!;
const all = (parent: Element, name: string): Element[] => Array.from(parent.getElementsByTagName(name));
const token = (claims: object = {}, sub = asset.signedId) =>
  signToken(key, { kid: key.keyId, sub, aud: 'v', exp: inSeconds(600), ...claims });

/** Absolute addresses of the files of every representation, the init segment first. */
const filesOf = (root: Element, url: string): Map<string, string[]> =>
  new Map(
    all(root, 'Representation').map((representation) => {
      const set = representation.parentNode as Element;
      const templates = [...all(representation, 'SegmentTemplate'), ...all(set, 'SegmentTemplate')];
      const attribute = (name: string) =>
        templates.map((template) => template.getAttribute(name)).find((value) => value !== null);
      const count = all(set, 'S').reduce((sum, run) => sum + 1 + Number(run.getAttribute('r') ?? 0), 0);
      const first = Number(attribute('startNumber'));
      const numbers = Array.from({ length: Math.max(count, 1) }, (_, segment) => String(first + segment));
      const names = numbers.map((number) => attribute('media')!.replace('$Number$', number));
      const initialization = attribute('initialization');
      const files = initialization === undefined ? names : [initialization, ...names];
      return [representation.getAttribute('id')!, files.map((name) => new URL(name, url).href)];
    }),
  );

test('names segments that exist, with the times that are in them', async () => {
  const path = `/${asset.publicId}.mpd`;
  const response = await get(path);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/dash+xml');
  expect(response.headers.get('cache-control')).toBe('no-cache');
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  const root = await parse(response);
  expect(all(root, 'Title')[0]!.textContent).toBe('Harbour "walk" & <1> ');
  const files = filesOf(root, `${server.origin}${path}`);
  expect(new Set(files.keys())).toEqual(
    new Set([...source.video.renditions.map(({ name }) => name), 'audio', 'images']),
  );
  for (const [id, urls] of files) {
    if (id !== 'images') expect(urls.length).toBe(source.video.boundaries.length);
    for (const url of urls) {
      const file = await fetch(url);
      expect([file.status, url]).toEqual([200, url]);
      const bytes = await bytesOf(file);
      const at = bytes.indexOf('tfdt', 0, 'latin1');
      if (at === -1) continue;
      const number = Number(/(\d+)\.m4s/.exec(url)![1]);
      const { boundaries } = id === 'audio' ? source.plan.audio! : source.video;
      expect(Number(bytes.readBigUInt64BE(at + 8))).toBe(boundaries[number]! * (id === 'audio' ? 1024 : 1));
    }
  }
});

test('is the same whole, in part, unchanged and for another method that reads', async () => {
  const path = `/${asset.publicId}.mpd`;
  const response = await get(path);
  const whole = await bytesOf(response);
  const part = await get(path, { range: 'bytes=5-19' });
  expect([part.status, await part.text()]).toEqual([206, whole.subarray(5, 20).toString()]);
  const etag = response.headers.get('etag')!;
  expect((await get(path, { 'if-none-match': etag })).status).toBe(304);
  const head = await get(path, {}, 'HEAD');
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(whole.length)]);
  expect((await get(path, {}, 'OPTIONS')).status).toBe(204);
  expect((await get(path, {}, 'DELETE')).status).toBe(405);
  expect((await get('/assets.mpd', {}, 'DELETE')).status).toBe(404);
});

test('modifiers shape it like the playlist; bad ones are named', async () => {
  const listed = async (query: string) =>
    all(all(await parse(await get(`/${asset.publicId}.mpd?${query}`)), 'AdaptationSet')[0]!, 'Representation').map(
      (one) => one.getAttribute('id'),
    );
  const names = source.video.renditions.map(({ name }) => name);
  expect(await listed('rendition_order=desc&redundant_streams=true&CMCD=bs')).toEqual([...names].reverse());
  expect(await listed('max_resolution=270p')).toEqual(names.slice(0, 1));
  expect(await messageOf(await get(`/${asset.publicId}.mpd?max_resolution=711p`))).toBe(
    '400 {"code":3,"message":"Invalid parameter: max_resolution"}',
  );
});

test('has the playlist’s answers where there is nothing to play', async () => {
  for (const ending of ['m3u8', 'mpd']) {
    expect((await get(`/${newId()}.${ending}`)).status).toBe(404);
    expect((await get(`/${preparing.publicId}.${ending}`)).status).toBe(412);
    expect((await get(`/${preparing.signedId}.${ending}`)).status).toBe(403);
    expect((await get(`/x.${ending}`)).status).toBe(404);
  }
  const doomed = await server.addAsset(source);
  expect((await get(`/${doomed.publicId}.mpd`)).status).toBe(200);
  await server.sdk().video.assets.delete(doomed.assetId);
  // What the finder knows is up to a second old.
  await expect.poll(async () => (await get(`/${doomed.publicId}.mpd`)).status).toBe(404);
});

describe('of a signed id', () => {
  test('needs a token and carries signatures that open its segments alone', async () => {
    expect(await messageOf(await get(`/${asset.signedId}.mpd`))).toBe('403 {"code":7,"message":"Token is missing"}');
    const path = `/${asset.signedId}.mpd?token=${token({ max_resolution: '270p', asset_start_time: 4.5 })}`;
    const response = await get(path);
    expect(response.headers.get('cache-control')).toBe('private, no-cache');
    const files = filesOf(await parse(response), `${server.origin}${path}`);
    expect([...files.keys()]).toEqual(['270p', 'audio', 'images']);
    for (const url of [...files.values()].flat()) expect([(await fetch(url)).status, url]).toEqual([200, url]);
    const [init, first] = files.get('270p')!;
    const refused = [
      first!.replace(/\/\d+\.m4s/, '/0.m4s'),
      first!.replace('/270p/', '/480p/'),
      first!.replace(/segments=[^&]+&/, ''),
      init!.replace(/\?.*/, ''),
      first!.replace(asset.signedId, asset.drmId),
    ];
    for (const url of refused) expect([(await fetch(url)).status, url]).toEqual([403, url]);
  });

  test('keeps to the restriction of its token', async () => {
    const { id } = await server.sdk().video.playbackRestrictions.create({
      referrer: { allowed_domains: ['example.com'], allow_no_referrer: false },
      user_agent: { allow_no_user_agent: true, allow_high_risk_user_agent: true },
    });
    const path = `/${asset.signedId}.mpd?token=${token({ playback_restriction_id: id })}`;
    expect(await messageOf(await get(path))).toBe('403 {"code":7,"message":"Playback is restricted"}');
    expect((await get(path, { referer: 'https://example.com/' })).status).toBe(200);
  });
});

test('of a DRM id has previews, which are not encrypted, for tokens that ask for them only', async () => {
  const setsOf = async (claims: object): Promise<string[]> => {
    const path = `/${asset.drmId}.mpd?token=${token(claims, asset.drmId)}`;
    return [...filesOf(await parse(await get(path)), `${server.origin}${path}`).keys()];
  };
  expect(await setsOf({})).not.toContain('images');
  expect(await setsOf({ roku_trick_play: true })).toContain('images');
  expect(await setsOf({ roku_trick_play: false })).not.toContain('images');
});

test('of a DRM id tells of the keys that its init segments name', async () => {
  const path = `/${asset.drmId}.mpd?token=${token({}, asset.drmId)}`;
  const root = await parse(await get(path));
  const files = filesOf(root, `${server.origin}${path}`);
  for (const set of all(root, 'AdaptationSet').slice(0, 2)) {
    const elements = all(set, 'ContentProtection');
    expect(elements.map((one) => one.getAttribute('schemeIdUri'))).toEqual([
      'urn:mpeg:dash:mp4protection:2011',
      'urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed',
      'urn:uuid:9a04f079-9840-4286-ab92-e65be0885f95',
      'urn:uuid:e2719d58-a985-b3c9-781a-b030af78d30e',
    ]);
    const init = await bytesOf(await fetch(files.get(all(set, 'Representation')[0]!.getAttribute('id')!)![0]!));
    const kid = elements[0]!.getAttribute('cenc:default_KID')!.replaceAll('-', '');
    expect(kid).toBe(tencOf(init).kid.toString('hex'));
    const boxes = elements.slice(1, 3).map((one) => Buffer.from(all(one, 'cenc:pssh')[0]!.textContent!, 'base64'));
    // The very boxes that the init segment has.
    for (const box of boxes) expect(init.includes(box)).toBe(true);
  }
  expect((await play.contentKeys()).length).toBeGreaterThan(0);
});

test('an original is where it is asked for and nothing is encrypted, and nowhere else', async () => {
  const original = await server.addAsset(await planFile(await fixture('hevc-480p.mp4'), { quality: 'plus' }));
  const path = `/${original.publicId}.mpd`;
  expect(await (await get(path)).text()).not.toContain('-hevc');
  const root = await parse(await get(`${path}?codecs=hevc`));
  const sets = all(root, 'AdaptationSet').filter((set) => set.getAttribute('contentType') === 'video');
  expect(sets.flatMap((set) => all(set, 'Representation').map((one) => one.getAttribute('id')))).toEqual(['480p-hevc']);
  for (const url of filesOf(root, `${server.origin}${path}`).get('480p-hevc')!)
    expect([(await fetch(url)).status, url]).toEqual([200, url]);
  const playlist = await get(`/${original.publicId}.m3u8?codecs=hevc`);
  expect(await playlist.text()).toContain('/480p-hevc/playlist.m3u8');

  const query = `token=${token({ codecs: 'hevc' }, original.drmId)}`;
  for (const ending of ['m3u8', 'mpd'])
    expect(await (await get(`/${original.drmId}.${ending}?${query}`)).text()).not.toContain('-hevc');
});

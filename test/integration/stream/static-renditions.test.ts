import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '#kinora/lib/ids.js';
import { renditionKey } from '#kinora/storage/keys.js';
import { fixture } from '../../support/media/fixtures.js';
import { planFile } from '../../support/media/video-run.js';
import { type PreparedAsset, startPlayback } from '../../support/players/playback.js';
import { inSeconds, type OwnedKey, signToken } from '../../support/players/playback-token.js';

const BYTES = randomBytes(3 * 2 ** 20);
/** Of the fixture. */
const SECONDS = 6;
const SIZE = [640, 360] as const;

let server: Awaited<ReturnType<typeof startPlayback>>;
let asset: PreparedAsset;
let drmId: string;
let key: OwnedKey;

const addFile = async (
  assetId: string,
  name: string,
  status: 'preparing' | 'ready' | 'skipped' | 'errored' = 'ready',
): Promise<string> => {
  const id = newId();
  const ext = name.endsWith('m4a') ? 'm4a' : 'mp4';
  const resolution = ext === 'm4a' ? 'audio-only' : name === 'low.mp4' ? null : name.slice(0, -'.mp4'.length);
  const size = ext === 'mp4' && { width: SIZE[0], height: SIZE[1] };
  const ready = {
    ...size,
    size_bytes: BYTES.length,
    bitrate: 1,
    resolution_tier: ext === 'm4a' ? 'audio-only' : '720p',
  };
  await server.database.queryable
    .insertInto('static_rendition')
    .values({ id, asset_id: assetId, name, ext, resolution, status, error: null, ...(status === 'ready' && ready) })
    .execute();
  if (status === 'ready') {
    const blob = await server.blobs.resumeWrite(renditionKey(assetId, id));
    await blob.write(BYTES);
    await blob.commit();
  }
  return id;
};

beforeAll(async () => {
  server = await startPlayback();
  const created = await server.sdk().system.signingKeys.create();
  key = { keyId: created.id, keySecret: created.private_key! };
  asset = await server.addAsset(await planFile(await fixture('h264-aac.mp4')));
  await addFile(asset.assetId, 'highest.mp4');
  await addFile(asset.assetId, 'audio.m4a');
  for (const status of ['preparing', 'skipped', 'errored'] as const)
    await addFile(asset.assetId, { preparing: '270p.mp4', skipped: '720p.mp4', errored: '480p.mp4' }[status], status);
  drmId = asset.drmId;
});
afterAll(() => server?.stop());

const get = (address: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${server.origin}/${address}`, { headers, method });
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
const refusal = async (response: Response) => [response.status, await response.json()];
const signed = (claims: object = {}, id = asset.signedId) =>
  signToken(key, { kid: key.keyId, sub: id, aud: 'v', exp: inSeconds(60), ...claims });

describe('a file', () => {
  test('is sent whole, in parts, or only told of', async () => {
    const address = `${asset.publicId}/highest.mp4`;
    const whole = await get(address);
    expect(whole.status).toBe(200);
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'content-type': 'video/mp4',
      'content-length': String(BYTES.length),
      'accept-ranges': 'bytes',
      'cache-control': 'public, max-age=31536000, immutable',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'Content-Length, Content-Range, Accept-Ranges',
    });
    expect(whole.headers.has('content-disposition')).toBe(false);
    const etag = whole.headers.get('etag')!;
    expect(etag).toMatch(/^"[^"]+"$/);
    expect(BYTES.equals(await bytesOf(whole))).toBe(true);

    for (const [range, start, end] of [
      ['bytes=0-99', 0, 100],
      ['bytes=1000000-', 1_000_000, BYTES.length],
      ['bytes=-10', BYTES.length - 10, BYTES.length],
    ] as const) {
      const part = await get(address, { range });
      expect(part.status).toBe(206);
      expect(part.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${BYTES.length}`);
      expect(BYTES.subarray(start, end).equals(await bytesOf(part))).toBe(true);
    }
    const beyond = await get(address, { range: `bytes=${BYTES.length}-` });
    expect(beyond.headers.get('content-range')).toBe(`bytes */${BYTES.length}`);
    expect(await refusal(beyond)).toEqual([416, { code: 11, message: 'Range Not Satisfiable' }]);
    expect((await get(address, { 'if-none-match': etag })).status).toBe(304);
    expect((await get(address, { range: 'bytes=0-9', 'if-range': '"other"' })).status).toBe(200);

    const head = await get(address, {}, 'HEAD');
    expect(head.status).toBe(200);
    expect(head.headers.get('content-length')).toBe(String(BYTES.length));
    expect((await bytesOf(head)).length).toBe(0);
    expect((await get(address, {}, 'OPTIONS')).status).toBe(204);
    expect((await get(address, {}, 'POST')).status).toBe(405);
  });

  test('of audio is called audio', async () => {
    const response = await get(`${asset.publicId}/audio.m4a?download=Harbor%20walk`);
    expect(response.headers.get('content-type')).toBe('audio/mp4');
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="Harbor walk.m4a"');
  });

  test.each([
    ['download=walk', 'attachment; filename="walk.mp4"'],
    ['download=..%2F%22walk%22.mp4', 'attachment; filename="walk.mp4"'],
    ['download=', null],
    ['max_resolution=nonsense&CMCD=bl%3D1', null],
  ])('with ?%s', async (query, expected) => {
    const response = await get(`${asset.publicId}/highest.mp4?${query}`, {}, 'HEAD');
    expect([response.status, response.headers.get('content-disposition')]).toEqual([200, expected]);
  });

  test.each(['270p.mp4', '720p.mp4', '480p.mp4', 'low.mp4', 'any.mp4', 'highest.m4a', 'highest', 'a/highest.mp4'])(
    'that is not ready or not known is not there: %s',
    async (name) => {
      expect(await refusal(await get(`${asset.publicId}/${name}`))).toEqual([404, { code: 5, message: 'Not Found' }]);
    },
  );

  test('of an asset that is not ready, or of no asset', async () => {
    for (const status of ['preparing', 'errored'] as const) {
      const other = await server.addAsset({ status });
      const response = await get(`${other.publicId}/highest.mp4`);
      expect(await refusal(response)).toEqual([412, { code: 9, message: 'Asset is not ready' }]);
      // Who may not see it does not learn that.
      expect((await get(`${other.signedId}/highest.mp4`)).status).toBe(403);
    }
    const nobody = await get(`${newId()}/highest.mp4`);
    expect(await refusal(nobody)).toEqual([404, { code: 5, message: 'Not Found' }]);
  });

  test('can be deleted and made again under another validator', async () => {
    const address = `${asset.publicId}/low.mp4`;
    const path = `/video/v1/assets/${asset.assetId}`;
    const etags = [];
    for (let round = 0; round < 2; round++) {
      const id = await addFile(asset.assetId, 'low.mp4');
      etags.push((await get(address, {}, 'HEAD')).headers.get('etag'));
      // One of `mp4_support` has no id for the API.
      expect((await server.call('DELETE', `${path}/static-renditions/${id}`)).status).toBe(404);
      await server.database.queryable.deleteFrom('static_rendition').where('id', '=', id).execute();
      expect((await get(address)).status).toBe(404);
    }
    expect(new Set(etags).size).toBe(2);
  });
});

describe('a file of a signed id', () => {
  test('needs a token for video, and may be named beside it', async () => {
    const address = `${asset.signedId}/highest.mp4`;
    expect(await refusal(await get(address))).toEqual([403, { code: 7, message: 'Token is missing' }]);
    const response = await get(`${address}?token=${signed({ max_resolution: '360p' })}&download=walk`, {
      range: 'bytes=0-9',
    });
    expect(response.status).toBe(206);
    expect(response.headers.get('cache-control')).toBe('private, max-age=3600');
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="walk.mp4"');
    for (const [claims, message] of [
      [{ aud: 't' }, 'Token audience does not match'],
      [{ exp: inSeconds(-1) }, 'Token has expired'],
      [{ sub: asset.publicId }, 'Token subject does not match'],
    ] as const) {
      const refused = await get(`${address}?token=${signed(claims)}`);
      expect(await refusal(refused)).toEqual([403, { code: 7, message }]);
      expect(refused.headers.get('cache-control')).toBe('private, no-cache');
    }
    const unknown = await get(`${asset.signedId}/any.mp4?token=${signed()}`);
    expect(await refusal(unknown)).toEqual([404, { code: 5, message: 'Not Found' }]);
  });

  test.each([
    [{ max_resolution: '270p' }, 403, 200],
    [{ max_resolution: '360p' }, 200, 200],
    [{ min_resolution: '360p' }, 200, 200],
    [{ min_resolution: '480p' }, 403, 200],
    [{ max_resolution: '' }, 200, 200],
    [{ asset_start_time: 2 }, 403, 403],
    [{ asset_end_time: '4' }, 403, 403],
    [{ asset_start_time: 0, asset_end_time: SECONDS + 1 }, 200, 200],
    [{ rendition_order: 'desc', default_subtitles_lang: 'en' }, 200, 200],
  ])('is as restricted as its token: %o', async (claims, video, audio) => {
    for (const [name, status] of [
      ['highest.mp4', video],
      ['audio.m4a', audio],
    ] as const) {
      const response = await get(`${asset.signedId}/${name}?token=${signed(claims)}`, { range: 'bytes=0-9' });
      if (status === 200) expect(response.status).toBe(206);
      else {
        expect(await refusal(response)).toEqual([403, { code: 7, message: 'Playback is restricted' }]);
        expect(response.headers.get('cache-control')).toBe('private, no-cache');
      }
    }
  });

  test('of a public id is not: whoever may have it may have all of it', async () => {
    const response = await get(`${asset.publicId}/highest.mp4?max_resolution=270p&asset_start_time=2`, {
      range: 'bytes=0-9',
    });
    expect(response.status).toBe(206);
  });

  test('is never sent where DRM is asked for', async () => {
    const response = await get(`${drmId}/highest.mp4?token=${signed({}, drmId)}`);
    expect(await refusal(response)).toEqual([
      403,
      { code: 7, message: 'Static renditions are not available with DRM' },
    ]);
    expect((await get(`${drmId}/highest.mp4`)).status).toBe(403);
  });
});

test('what is sent of a file counts as that share of its length', async () => {
  const other = await server.addAsset(await planFile(await fixture('h264-aac.mp4')));
  await addFile(other.assetId, 'highest.mp4');
  const address = `${other.publicId}/highest.mp4`;
  await bytesOf(await get(address));
  await bytesOf(await get(address, { range: `bytes=0-${BYTES.length / 2 - 1}` }));
  await get(address, {}, 'HEAD');
  const report = () =>
    server.database.queryable
      .selectFrom('delivery_usage')
      .select(({ fn }) => [
        fn.sum<number>('delivered_seconds').as('seconds'),
        fn.sum<number>('delivered_bytes').as('bytes'),
      ])
      .where('asset_id', '=', other.assetId)
      .where('tier', '=', '720p')
      .executeTakeFirstOrThrow();
  await expect.poll(async () => Number((await report()).bytes), { timeout: 120_000 }).toBe(BYTES.length * 1.5);
  expect(Number((await report()).seconds)).toBeCloseTo(SECONDS * 1.5, 1);
});

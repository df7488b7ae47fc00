/** What is sent to DRM playback ids: playlists, encrypted files and licenses. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findBox, listBoxes } from '#kinora/media/mp4/box-reader.js';
import { withFolder } from '../../support/media/video-run.js';
import {
  bytesOf,
  type DrmPlayback,
  messageOf,
  type PlaybackServer,
  startDrmPlayback,
  tencOf,
} from '../../support/players/drm-playback.js';
import type { PreparedAsset } from '../../support/players/playback.js';
import { packageEncrypted, readSamples } from '../../support/players/shaka-packager.js';
import { until } from '../../support/servers/server-process.js';

let server: PlaybackServer;
let asset: PreparedAsset;
let other: PreparedAsset;
let play: DrmPlayback;

beforeAll(async () => {
  ({ server, asset, other, play } = await startDrmPlayback());
});
afterAll(() => server?.stop());

describe('playlists', () => {
  const four = [
    'urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed',
    'com.microsoft.playready',
    'com.apple.streamingkeydelivery',
    'org.w3.clearkey',
  ];
  const formats = (text: string, tag: string) =>
    [...text.matchAll(new RegExp(`^#EXT-X-${tag}:METHOD=SAMPLE-AES,.*KEYFORMAT="([^"]+)"`, 'gm'))].map(
      ([, name]) => name,
    );

  test('tell of four key systems, ClearKey last, before the init segment', async () => {
    expect(formats(await play.master(), 'SESSION-KEY')).toEqual([...four, ...four]);
    const children = await play.children(`/${asset.drmId}.m3u8?token=${play.token('v')}`);
    for (const rendition of ['270p', 'audio']) {
      const media = await play.textOf(children.get(rendition)!);
      expect(formats(media, 'KEY')).toEqual(four);
      expect(media.indexOf('#EXT-X-MAP')).toBeGreaterThan(media.lastIndexOf('#EXT-X-KEY'));
      expect(media).toContain(`URI="${server.origin}/license/clearkey/${asset.drmId}",KEYFORMAT="org.w3.clearkey"`);
    }
    const open = await play.children(`/${asset.publicId}.m3u8`);
    expect(await play.textOf(open.get('270p')!)).not.toContain('EXT-X-KEY');
  });

  test('need a token of their own audience', async () => {
    for (const [query, text] of [
      ['', 'Token is missing'],
      [`?token=${play.token('d')}`, 'Token audience does not match'],
    ])
      expect(await messageOf(await play.get(`/${asset.drmId}.m3u8${query}`))).toBe(
        `403 {"code":7,"message":"${text}"}`,
      );
  });

  test('of an instant clip lead to encrypted segments of that clip only', async () => {
    const clip = await play.children(`/${asset.drmId}.m3u8?token=${play.token('v', { asset_start_time: 4.5 })}`);
    const [, first] = await play.filesOf(clip.get('270p')!);
    expect(first).toContain('/2.m4s');
    expect(readSamples(await bytesOf(await play.get(first!))).subsamples.length).toBeGreaterThan(0);
    expect((await play.get(first!.replace('2.m4s', '1.m4s'))).status).toBe(403);
  });
});

describe('init segments and segments', () => {
  test('of every rendition are those of the public id, encrypted as shaka-packager does it', async () => {
    const keys = await play.contentKeys();
    const renditions = [...(await play.children(`/${asset.publicId}.m3u8`)).keys()];
    expect(renditions.length).toBeGreaterThan(4);
    for (const rendition of renditions) {
      const [clearFiles, files] = [await play.openFiles(rendition), await play.drmFiles(rendition)];
      const load = (paths: string[]) =>
        Promise.all(paths.slice(0, 2).map(async (path) => bytesOf(await play.get(path))));
      const [clear, ours] = [await load(clearFiles), await load(files)];
      const { kid, iv } = tencOf(ours[0]!);
      const { key } = keys.find((each) => each.kid.equals(kid))!;
      const theirs = withFolder((folder) =>
        readSamples(packageEncrypted(folder, Buffer.concat(clear), { kid, iv, key })),
      );
      const sent = readSamples(ours[1]!);
      expect([rendition, sent.data.equals(theirs.data)]).toEqual([rendition, true]);
      expect(sent.subsamples).toEqual(theirs.subsamples);
    }
  });

  test('name all keys in the common box of the init segment, and the key systems after it', async () => {
    const bytes = await bytesOf(await play.get((await play.drmFiles('270p'))[0]!));
    const moov = findBox(bytes, ['moov'])!;
    const boxes = listBoxes(bytes, moov.content, moov.end)!.filter(({ type }) => type === 'pssh');
    expect(boxes.map(({ start }) => bytes.subarray(start + 12, start + 28).toString('hex'))).toEqual([
      '1077efecc0b24d02ace33c1e52e2fb4b',
      'edef8ba979d64acea3c827dcd51d21ed',
      '9a04f07998404286ab92e65be0885f95',
    ]);
    const keys = await play.contentKeys();
    expect(keys).toHaveLength(2);
    for (const { kid } of keys) expect(bytes.subarray(boxes[0]!.start, boxes[0]!.end).includes(kid)).toBe(true);
  });

  test.each(['270p', '720p', 'audio'])('of %s: every range is the same part of the whole', async (rendition) => {
    for (const path of (await play.drmFiles(rendition)).slice(0, 2)) {
      const whole = await bytesOf(await play.get(path));
      const last = whole.length - 1;
      const starts = [0, 1, 100, 3000, 5000, 40_000, 300_000, last - 20, last];
      for (const start of starts.filter((each) => each >= 0 && each <= last)) {
        for (const length of [1, 17, 5000, 700_000]) {
          const end = Math.min(last, start + length - 1);
          const response = await play.get(path, { range: `bytes=${start}-${end}` });
          const range = `bytes ${start}-${end}/${whole.length}`;
          expect([response.status, response.headers.get('content-range')]).toEqual([206, range]);
          expect((await bytesOf(response)).equals(whole.subarray(start, end + 1)), range).toBe(true);
        }
      }
      expect((await play.get(path, { range: `bytes=${whole.length}-` })).status).toBe(416);
      expect((await play.get(path, {}, 'HEAD')).headers.get('content-length')).toBe(String(whole.length));
    }
  });

  test('have validators of their own', async () => {
    const [clearFiles, files] = [await play.openFiles('270p'), await play.drmFiles('270p')];
    for (const at of [0, 1]) {
      const [clear, encrypted] = [await play.get(clearFiles[at]!), await play.get(files[at]!)];
      const [clearTag, tag] = [clear, encrypted].map(({ headers }) => headers.get('etag')!);
      expect(tag).not.toBe(clearTag);
      expect((await play.get(files[at]!, { 'if-none-match': tag! })).status).toBe(304);
      expect((await play.get(files[at]!, { 'if-none-match': clearTag! })).status).toBe(200);
      expect(encrypted.headers.get('cache-control')).toBe('private, max-age=3600');
    }
  });

  test('leave the files of the cache as they are', async () => {
    const directory = join(server.cacheDir, asset.assetId.slice(0, 2), asset.assetId);
    const digests = (): Map<string, string> => {
      const found = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      const paths = found.map(({ parentPath, name }) => join(parentPath, name));
      return new Map(paths.map((path) => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]));
    };
    const path = (await play.openFiles('480p'))[1]!;
    const clear = await bytesOf(await play.get(path));
    const before = digests();
    expect(before.size).toBeGreaterThan(0);
    await bytesOf(await play.get((await play.drmFiles('480p'))[1]!));
    const after = digests();
    for (const [name, digest] of before) expect(after.get(name)).toBe(digest);
    expect((await bytesOf(await play.get(path))).equals(clear)).toBe(true);
  });

  test('are counted as delivered once each, parts of them only by their bytes', async () => {
    const path = (await play.drmFiles('270p'))[1]!.replaceAll(asset.drmId, other.drmId);
    const children = await play.children(`/${other.drmId}.m3u8?token=${play.token('v', {}, other.drmId)}`);
    const [, segment] = await play.filesOf(children.get('270p')!);
    expect((await play.get(path)).status).toBe(403);
    await bytesOf(await play.get(segment!, { range: 'bytes=0-99' }));
    const { length } = await bytesOf(await play.get(segment!));
    const delivered = async (): Promise<number> => {
      const { queryable } = server.database;
      const rows = await queryable
        .selectFrom('delivery_usage')
        .selectAll()
        .where('asset_id', '=', other.assetId)
        .execute();
      return rows.reduce((sum, { delivered_bytes: bytes }) => sum + Number(bytes), 0);
    };
    await until('the deliveries are written', async () => (await delivered()) >= length + 100);
    expect(await delivered()).toBe(length + 100);
  });
});

describe('a license', () => {
  const kid = async () => (await play.contentKeys())[0]!.kid.toString('base64url');

  test('holds the keys that are asked for', async () => {
    const response = await play.license({ kids: [await kid()], type: 'temporary' });
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('cache-control')).toBe('private, no-store');
    expect(await response.json()).toEqual({
      keys: [{ kty: 'oct', kid: await kid(), k: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/) }],
      type: 'temporary',
    });
  });

  test('is refused without a good token', async () => {
    const good = `?token=${play.token('d')}`;
    const missing = '400 {"code":3,"message":"Token is missing"}';
    const cases: [string, string, string][] = [
      ['', asset.drmId, missing],
      ['?token=', asset.drmId, missing],
      ['?token=x', asset.drmId, '403 {"code":7,"message":"Token is malformed"}'],
      [`?token=${play.token('v')}`, asset.drmId, '403 {"code":7,"message":"Token audience does not match"}'],
      [
        `?token=${play.token('d', {}, other.drmId)}`,
        asset.drmId,
        '403 {"code":7,"message":"Token subject does not match"}',
      ],
      [`?token=${play.token('d', { exp: 1 })}`, asset.drmId, '403 {"code":7,"message":"Token has expired"}'],
      [good, asset.publicId, '400 {"code":3,"message":"Playback ID does not use DRM"}'],
      [good, asset.signedId, '400 {"code":3,"message":"Playback ID does not use DRM"}'],
      [good, 'x'.repeat(40), '404 {"code":5,"message":"Not Found"}'],
    ];
    const body = { kids: [await kid()], type: 'temporary' };
    for (const [query, id, expected] of cases)
      expect(await messageOf(await play.license(body, query, id))).toBe(expected);
  });

  test('is refused where the restriction of its token forbids it', async () => {
    const restriction = await server.sdk().video.playbackRestrictions.create({
      referrer: { allowed_domains: ['example.com'], allow_no_referrer: false },
      user_agent: { allow_no_user_agent: true, allow_high_risk_user_agent: true },
    });
    const token = play.token('d', { playback_restriction_id: restriction.id });
    const ask = async (referer: string) =>
      fetch(`${server.origin}/license/clearkey/${asset.drmId}?token=${token}`, {
        method: 'POST',
        headers: { referer },
        body: JSON.stringify({ kids: [await kid()] }),
      });
    expect((await ask('https://example.com/page')).status).toBe(200);
    expect(await messageOf(await ask('https://example.org/'))).toBe(
      '403 {"code":7,"message":"Playback is restricted"}',
    );
  });

  test('is refused before the asset is ready', async () => {
    const { drmId } = await server.addAsset({ status: 'preparing' });
    const response = await play.license({ kids: [] }, `?token=${play.token('d', {}, drmId)}`, drmId);
    expect(await messageOf(response)).toBe('412 {"code":9,"message":"Asset is not ready"}');
  });

  test.each(['', 'x', '[]', 'null', '{"kids":1}', '{"kids":["AAAAAAAAAAAAAAAAAAAAAA"]}', '{"kids":[null]}'])(
    'is refused to the request %j',
    async (body) => {
      const response = await play.license(body);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: 3 });
    },
  );

  test('is refused to what is too large or no POST', async () => {
    expect((await play.license('x'.repeat(70_000))).status).toBe(413);
    const path = `/license/clearkey/${asset.drmId}`;
    const got = await play.get(`${path}?token=${play.token('d')}`);
    expect(await messageOf(got)).toBe('405 {"code":12,"message":"Method not allowed"}');
    const options = await play.get(path, {}, 'OPTIONS');
    expect([options.status, options.headers.get('access-control-allow-methods')]).toEqual([204, 'POST, OPTIONS']);
  });

  test.each(['widevine', 'playready', 'fairplay', 'other'])('of %s is not found without its server', async (system) => {
    const url = `${server.origin}/license/${system}/${asset.drmId}?token=${play.token('d')}`;
    expect(await messageOf(await fetch(url, { method: 'POST', body: 'x' }))).toBe(
      '404 {"code":5,"message":"Not Found"}',
    );
  });

  test('leaves no key in the log', async () => {
    const text = JSON.stringify([server.logger, server.requestLog]);
    for (const { key } of await play.contentKeys())
      for (const encoding of ['hex', 'base64', 'base64url'] as const)
        expect(text).not.toContain(key.toString(encoding));
  });
});

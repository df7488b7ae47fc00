import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { GENERATION } from '#kinora/media/plan/generation.js';
import { fixture } from '../../support/media/fixtures.js';
import { type PlannedSource, planFile } from '../../support/media/video-run.js';
import { playTree } from '../../support/players/play.js';
import { type PreparedAsset, startPlayback } from '../../support/players/playback.js';
import { inSeconds, type OwnedKey, signToken } from '../../support/players/playback-token.js';

let server: Awaited<ReturnType<typeof startPlayback>>;
let source: PlannedSource;
let asset: PreparedAsset;
let mux: ReturnType<typeof server.sdk>;
let key: OwnedKey;

const newKey = async (): Promise<OwnedKey> => {
  const { id, private_key } = await mux.system.signingKeys.create();
  return { keyId: id, keySecret: private_key! };
};

beforeAll(async () => {
  server = await startPlayback();
  mux = server.sdk();
  source = await planFile(await fixture('h264-aac.mp4'));
  asset = await server.addAsset(source, 'Harbor walk');
});
beforeEach(async () => {
  key = await newKey();
});
afterAll(() => server?.stop());

const sign = (params: Record<string, string> = {}, id = asset.signedId): Promise<string> =>
  mux.jwt.signPlaybackId(id, { ...key, expiration: '1h', params });
const get = (address: string, headers: Record<string, string> = {}) =>
  fetch(new URL(address, server.origin), { headers });
/** `ok`, or status and message. */
const responseTo = async (address: string, headers: Record<string, string> = {}): Promise<string> => {
  const response = await get(address, headers);
  const text = await response.text();
  return response.ok ? 'ok' : `${response.status} ${JSON.parse(text).message}`;
};
const masterOf = (token: string, query = '') => `${server.origin}/${asset.signedId}.m3u8?token=${token}${query}`;
/** Addresses of a playlist, absolute. */
const addressesIn = async (playlist: string): Promise<string[]> => {
  const text = await (await get(playlist)).text();
  return [...text.matchAll(/^(?!#)(\S+)$|(?<!chapters",)URI="([^"]+)"/gm)].map(
    ([, line, uri]) => new URL(line ?? uri!, new URL(playlist, server.origin)).href,
  );
};
const videosIn = async (playlist: string) =>
  (await addressesIn(playlist)).filter((address) => !address.includes('/audio/'));
const renditionsIn = async (playlist: string) => (await videosIn(playlist)).map((address) => address.split('/')[5]!);

test('a token of the SDK plays a signed id through all its playlists and segments', async () => {
  const signed = await playTree(masterOf(await sign()));
  const open = await playTree(`${server.origin}/${asset.publicId}.m3u8`);
  expect(signed.map(({ digest }) => digest)).toEqual(open.map(({ digest }) => digest));
  expect(open.length).toBeGreaterThan(source.video.renditions.length + 1);
  for (const { url } of signed) expect(new URL(url).search).toMatch(/^\?signature=[\w.-]+$/);
  for (const { url } of open) expect(new URL(url).search).toBe('');
});

test('nothing signed may be kept by a shared cache; public answers are as they were', async () => {
  const control = async (address: string) => (await get(address)).headers.get('cache-control');
  const walk = async (master: string) => {
    const [child] = await videosIn(master);
    const [init] = await addressesIn(child!);
    return [await control(master), await control(child!), await control(init!)];
  };
  const token = await sign();
  expect(await walk(masterOf(token))).toEqual(['private, no-cache', 'private, no-cache', 'private, max-age=3600']);
  expect(await walk(`/${asset.publicId}.m3u8`)).toEqual([
    'no-cache',
    'public, max-age=60',
    'public, max-age=31536000, immutable',
  ]);
  const metadata = `/${asset.signedId}/metadata.json?token=${token}`;
  expect([await control(metadata), await control(`/${asset.publicId}/metadata.json`)]).toEqual([
    'private, no-cache',
    'no-cache',
  ]);
  expect(await control(`/${asset.signedId}.m3u8`)).toBe('private, no-cache');
  const page = await get(`/${asset.signedId}?token=${token}`, { accept: 'text/html' });
  expect(page.headers.get('cache-control')).toBe('private, no-cache');
  expect(await page.text()).toContain(`data-source="/${asset.signedId}.m3u8?token=${token}"`);
  const [init] = await addressesIn((await videosIn(masterOf(token)))[0]!);
  const etag = (await get(init!)).headers.get('etag')!;
  const unchanged = await get(init!, { 'if-none-match': etag });
  expect([unchanged.status, unchanged.headers.get('cache-control')]).toEqual([304, 'private, max-age=3600']);
  expect((await get(init!, { range: 'bytes=0-9' })).headers.get('cache-control')).toBe('private, max-age=3600');
});

describe('modifiers', () => {
  const renditions = () => source.video.renditions.map(({ name }) => name);
  test('come from claims, as texts, numbers and booleans', async () => {
    expect(await renditionsIn(masterOf(await sign({ max_resolution: '270p' })))).toEqual(renditions().slice(0, 1));
    expect(await renditionsIn(masterOf(await sign({ rendition_order: 'desc', min_resolution: '' })))).toEqual(
      [...renditions()].reverse(),
    );
    const claims = { kid: key.keyId, sub: asset.signedId, aud: 'v', exp: inSeconds(60) };
    const own = (over: object) => masterOf(signToken(key, { ...claims, ...over }));
    for (const redundant_streams of [true, 'true', '1']) {
      expect(await videosIn(own({ redundant_streams })), `${redundant_streams}`).toHaveLength(2 * renditions().length);
    }
    for (const asset_start_time of [4.5, '4.5']) {
      expect((await videosIn(own({ asset_start_time })))[0]).toMatch(/\?segments=\d+-\d+&signature=/);
    }
    expect(await responseTo(own({ asset_start_time: 1e6 }))).toBe('400 Invalid parameter: asset_start_time');
    expect(await responseTo(own({ program_start_time: 1 }))).toBe('400 Invalid parameter: program_start_time');
  });

  test('of the query are ignored, good or bad', async () => {
    const token = await sign();
    const plain = await renditionsIn(masterOf(token));
    for (const query of ['max_resolution=270p', 'max_resolution=bad', 'rendition_order=desc', 'program_start_time=1']) {
      expect(await renditionsIn(masterOf(token, `&${query}`)), query).toEqual(plain);
    }
  });

  test('cannot be avoided by another address: a capped token gives no higher rendition', async () => {
    const large = await server.addAsset(await planFile(await fixture('copy-720p.mp4')));
    const capped = await sign({ max_resolution: '270p' }, large.signedId);
    const [child, ...more] = await videosIn(`/${large.signedId}.m3u8?token=${capped}`);
    const all = await renditionsIn(`/${large.signedId}.m3u8?token=${await sign({}, large.signedId)}`);
    expect([more.length, all.includes('720p'), child!.includes('/270p/')]).toEqual([0, true, true]);
    const raise = (address: string) => address.replace('/270p/', '/720p/');
    for (const address of [child!, ...(await addressesIn(child!)).slice(0, 2)]) {
      expect(await responseTo(address)).toBe('ok');
      expect(await responseTo(raise(address))).toBe('403 Token signature is invalid');
    }
    const bare = new URL(raise(child!));
    bare.search = `?token=${capped}`;
    expect(await responseTo(bare.href)).toBe('403 Token is missing');
  });

  test('an instant clip gives its own segments and no other', async () => {
    const [child] = await videosIn(masterOf(await sign({ asset_start_time: '4.5' })));
    const [init, first] = await addressesIn(child!);
    expect([await responseTo(init!), await responseTo(first!)]).toEqual(['ok', 'ok']);
    expect(await responseTo(first!.replace(/\d+\.m4s/, '0.m4s'))).toBe('403 Token signature is invalid');
    for (const changed of [
      child!.replace(/segments=\d+/, 'segments=0'),
      child!.replace(/segments=[^&]+&/, ''),
      `${first!}&segments=0-99`,
      first!.replace(/segments=[^&]+&/, ''),
    ]) {
      expect(await responseTo(changed), changed).toBe('403 Token signature is invalid');
    }
  });
});

test('a child address is good for itself alone', async () => {
  const other = await server.addAsset(source);
  const [child] = await videosIn(masterOf(await sign()));
  const url = new URL(child!);
  const [expiry, keyId, restriction, code] = url.searchParams.get('signature')!.split('.') as string[];
  const withSignature = (...parts: unknown[]) => {
    const changed = new URL(url);
    changed.searchParams.set('signature', parts.join('.'));
    return changed.href;
  };
  const second = await newKey();
  const invalid = '403 Token signature is invalid';
  expect(await responseTo(url.href)).toBe('ok');
  expect(await responseTo(url.href.replace(asset.signedId, other.signedId))).toBe(invalid);
  expect(await responseTo(withSignature(Number(expiry) + 1, keyId, restriction, code))).toBe(invalid);
  expect(await responseTo(withSignature(expiry, second.keyId, restriction, code))).toBe(invalid);
  expect(await responseTo(withSignature(expiry, keyId, 'R'.repeat(40), code))).toBe(invalid);
  expect(
    await responseTo(
      withSignature(expiry, keyId, restriction, `${code!.startsWith('A') ? 'B' : 'A'}${code!.slice(1)}`),
    ),
  ).toBe(invalid);
  expect(await responseTo(withSignature())).toBe('403 Token is missing');
  expect(await responseTo(`${url.origin}${url.pathname}`)).toBe('403 Token is missing');
  expect(await responseTo(url.href.replace(`/${GENERATION}/`, `/${GENERATION + 1}/`))).toBe(invalid);
  expect(await responseTo(masterOf('', `&signature=${url.searchParams.get('signature')}`))).toBe(
    '403 Token is missing',
  );
  expect(await responseTo(`/${asset.signedId}/metadata.json${url.search}`)).toBe(invalid);
  expect(await responseTo(`/${asset.signedId}/720p.mp4${url.search}`)).toBe('403 Token is missing');
});

test('child addresses end with the token', async () => {
  const claims = { kid: key.keyId, sub: asset.signedId, aud: 'v', exp: inSeconds(3) };
  const [child] = await videosIn(masterOf(signToken(key, claims)));
  const [, segment] = await addressesIn(child!);
  const whileValid = await responseTo(segment!);
  await expect.poll(() => responseTo(segment!), { timeout: 120_000 }).toBe('403 Token has expired');
  expect(await responseTo(child!)).toBe('403 Token has expired');
  // On a machine that was busy for three seconds it may have ended before.
  expect(['ok', '403 Token has expired']).toContain(whileValid);
});

describe('a key', () => {
  const segmentOf = async () => (await addressesIn((await videosIn(masterOf(await sign())))[0]!))[1]!;

  test('that was removed here ends child addresses at once', async () => {
    const segment = await segmentOf();
    expect(await responseTo(segment)).toBe('ok');
    await mux.system.signingKeys.delete(key.keyId);
    expect(await responseTo(segment)).toBe('403 Token key is unknown');
  });

  test('that was removed elsewhere ends them within sixty seconds', async () => {
    const segment = await segmentOf();
    await server.database.queryable.deleteFrom('signing_key').where('id', '=', key.keyId).execute();
    expect(await responseTo(segment)).toBe('ok');
    server.clock.aheadMs += 31_000;
    await responseTo(segment);
    await expect.poll(() => responseTo(segment)).toBe('403 Token key is unknown');

    key = await newKey();
    const unused = await segmentOf();
    await server.database.queryable.deleteFrom('signing_key').where('id', '=', key.keyId).execute();
    server.clock.aheadMs += 59_000;
    expect(await responseTo(unused)).toBe('403 Token key is unknown');
  });
});

describe('a restriction', () => {
  const page = { referer: 'https://www.example.com/watch', 'user-agent': 'Mozilla/5.0' };
  const denied = '403 Playback is restricted';
  const create = (allowed_domains: string[], user_agent = {}) =>
    mux.video.playbackRestrictions.create({ referrer: { allowed_domains }, user_agent });
  const restricted = async (id: string) => {
    const master = masterOf(await sign({ playback_restriction_id: id }));
    const text = await (await get(master, page)).text();
    const child = new URL(/^[^#].*$/m.exec(text)![0], master).href;
    const init = /URI="([^"]+)"/.exec(await (await get(child, page)).text())![1]!;
    return [master, child, new URL(init, child).href];
  };
  const responses = async (addresses: string[], headers: Record<string, string>) =>
    new Set(await Promise.all(addresses.map((address) => responseTo(address, headers))));

  test('holds for playlists and segments alike', async () => {
    const { id } = await create(['*.example.com'], { allow_high_risk_user_agent: false, allow_no_user_agent: false });
    const addresses = await restricted(id);
    expect(new URL(addresses[1]!).search).toContain(`.${id}.`);
    expect(await responses(addresses, page)).toEqual(new Set(['ok']));
    expect(await responses(addresses, { 'user-agent': 'Mozilla' })).toEqual(new Set([denied]));
    expect(await responses(addresses, { ...page, referer: 'https://example.com/' })).toEqual(new Set([denied]));
    expect(await responses(addresses, { ...page, 'user-agent': 'curl/8.5.0' })).toEqual(new Set([denied]));
    expect(await responses(addresses, { ...page, 'user-agent': '' })).toEqual(new Set([denied]));
    expect(await responses(addresses, { 'user-agent': 'Mozilla', origin: 'https://a.example.com' })).toEqual(
      new Set(['ok']),
    );
  });

  test('counts as changed at once, and removed lets nobody in', async () => {
    const { id } = await create(['www.example.com']);
    const addresses = await restricted(id);
    expect(await responses(addresses, page)).toEqual(new Set(['ok']));
    await mux.video.playbackRestrictions.updateReferrer(id, { allowed_domains: ['other.org'] });
    expect(await responses(addresses, page)).toEqual(new Set([denied]));
    await mux.video.playbackRestrictions.updateReferrer(id, { allowed_domains: [], allow_no_referrer: true });
    expect(await responses(addresses, page)).toEqual(new Set([denied]));
    expect(await responses(addresses, {})).toEqual(new Set(['ok']));
    await mux.video.playbackRestrictions.updateUserAgent(id, {
      allow_no_user_agent: true,
      allow_high_risk_user_agent: false,
    });
    expect(await responses(addresses, { 'user-agent': 'Lavf/60' })).toEqual(new Set([denied]));
    await mux.video.playbackRestrictions.delete(id);
    expect(await responses(addresses, {})).toEqual(new Set(['403 Playback restriction is invalid']));
  });

  test('that changed elsewhere counts within sixty seconds, one of another environment never', async () => {
    const { id } = await create(['www.example.com']);
    const addresses = await restricted(id);
    await server.database.queryable.deleteFrom('playback_restriction').where('id', '=', id).execute();
    server.clock.aheadMs += 59_000;
    expect(await responses(addresses, page)).toEqual(new Set(['403 Playback restriction is invalid']));

    const other = await server.newEnvironment('Elsewhere');
    const token = await server.newToken({ name: 'elsewhere', environmentId: other.id });
    const foreign = await server.sdk(token).video.playbackRestrictions.create({
      referrer: { allowed_domains: ['*'], allow_no_referrer: true },
      user_agent: {},
    });
    expect(await responseTo(masterOf(await sign({ playback_restriction_id: foreign.id })))).toBe(
      '403 Playback restriction is invalid',
    );
  });

  test('does not touch public ids', async () => {
    expect(await responseTo(`/${asset.publicId}.m3u8?playback_restriction_id=x`)).toBe('ok');
  });
});

test('segments of a signed id ask neither the database nor RSA', async () => {
  const [child] = await videosIn(masterOf(await sign()));
  const [init, segment] = await addressesIn(child!);
  await responseTo(init!);
  await responseTo(segment!);
  const queries = vi.spyOn(server.database.queryable, 'selectFrom');
  const verifications = vi.spyOn(crypto.subtle, 'verify');
  // Budgets are read every few moments, whatever is requested.
  const asked = () => queries.mock.calls.filter(([table]) => table !== 'delivery_budget');
  const counts = () => [asked().length, verifications.mock.calls.length];
  try {
    server.clock.aheadMs += 20_000;
    for (let i = 0; i < 20; i++) expect(await responseTo(segment!)).toBe('ok');
    expect(counts()).toEqual([0, 0]);
    await responseTo(masterOf(await sign()));
    expect(counts()).toEqual([0, 1]);
  } finally {
    queries.mockRestore();
    verifications.mockRestore();
  }
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#kinora/lib/ids.js';
import { planAsset } from '#kinora/media/plan/plan-asset.js';
import { fixture } from '../support/media/fixtures.js';
import { indexFile, planFile, probeFile } from '../support/media/video-run.js';
import { type PreparedAsset, startPlayback } from '../support/players/playback.js';
import { inSeconds, type OwnedKey, signToken } from '../support/players/playback-token.js';

let server: Awaited<ReturnType<typeof startPlayback>>;
let key: OwnedKey;
let asset: PreparedAsset;
let others: Record<'audio' | 'preparing' | 'errored', PreparedAsset>;

beforeAll(async () => {
  server = await startPlayback();
  const { id, private_key } = await server.sdk().system.signingKeys.create();
  key = { keyId: id, keySecret: private_key! };
  // 6 s.
  asset = await server.addAsset(await planFile(await fixture('h264-aac.mp4')));
  const path = await fixture('audio-only.mp3');
  const facts = await probeFile(path);
  const settings = { quality: 'basic', maxResolutionTier: '1080p', isTest: false } as const;
  others = {
    audio: await server.addAsset({ path, plan: planAsset({ facts, index: indexFile(path, facts), settings }) }),
    preparing: await server.addAsset({ status: 'preparing' }),
    errored: await server.addAsset({ status: 'errored' }),
  };
});
afterAll(() => server?.stop());

const get = (id: string, file: string) => fetch(`${server.origin}/${id}/${file}`);
const token = (aud: string, claims: object = {}) =>
  signToken(key, { kid: key.keyId, sub: asset.signedId, aud, exp: inSeconds(600), ...claims });
/** The type of what came, or status, code and message of the refusal. */
const outcome = async (response: Response): Promise<string> => {
  const bytes = Buffer.from(await response.arrayBuffer());
  if (response.ok) return response.headers.get('content-type')!;
  const { code, message } = JSON.parse(bytes.toString());
  return `${response.status} ${code} ${message}`;
};

const INVALID = '400 3 Invalid parameter';
const FIT_MODE = '400 3 Unrecognized fit-mode';
const JPEG = 'image/jpeg';

const thumbnailCases: readonly (readonly [string, string])[] = [
  ['', JPEG],
  ['time=0', JPEG],
  ['time=2.5', JPEG],
  ['time=1e9', JPEG],
  ['time=', JPEG],
  ['time=-1', INVALID],
  ['time=abc', INVALID],
  ['time=1,5', INVALID],
  ['time=NaN', INVALID],
  ['time=Infinity', INVALID],
  ['width=1', JPEG],
  ['width=4096', JPEG],
  ['width=0', INVALID],
  ['width=4097', INVALID],
  ['width=1.5', INVALID],
  ['width=x', INVALID],
  ['height=1', JPEG],
  ['height=0', INVALID],
  ['height=4097', INVALID],
  ['height=-5', INVALID],
  ['width=10&height=10&fit_mode=preserve', JPEG],
  ['width=10&height=10&fit_mode=stretch', JPEG],
  ['width=10&height=10&fit_mode=crop', JPEG],
  ['width=10&height=10&fit_mode=smartcrop', JPEG],
  ['width=10&height=10&fit_mode=pad', JPEG],
  ['fit_mode=pad', JPEG],
  ['fit_mode=', JPEG],
  ['fit_mode=contain', FIT_MODE],
  ['fit_mode=PAD', FIT_MODE],
  ['rotate=90', JPEG],
  ['rotate=180', JPEG],
  ['rotate=270', JPEG],
  ['rotate=0', INVALID],
  ['rotate=45', INVALID],
  ['rotate=360', INVALID],
  ['rotate=right', INVALID],
  ['flip_h=true&flip_v=true', JPEG],
  ['flip_h=false', JPEG],
  ['flip_h=yes', INVALID],
  ['flip_v=up', INVALID],
  ['program_time=1767225600', JPEG],
  ['program_time=never', JPEG],
  ['latest=false', JPEG],
  ['latest=true', INVALID],
  ['latest=maybe', INVALID],
  ['unknown=1', JPEG],
  // Of a repeated parameter the last one counts.
  ['width=0&width=20', JPEG],
  ['width=20&width=0', INVALID],
];

describe('thumbnail', () => {
  it.each(thumbnailCases)('?%s', async (query, expected) => {
    expect(await outcome(await get(asset.publicId, `thumbnail.jpg?${query}`))).toBe(expected);
  });

  it.each(thumbnailCases)('claims %s', async (query, expected) => {
    const claims = Object.fromEntries(new URLSearchParams(query));
    const address = `thumbnail.jpg?token=${token('t', claims)}`;
    expect(await outcome(await get(asset.signedId, address))).toBe(expected);
  });

  it('claims may be numbers and booleans', async () => {
    const responseTo = (claims: object) =>
      get(asset.signedId, `thumbnail.jpg?token=${token('t', claims)}`).then((response) => outcome(response));
    expect(await responseTo({ width: 40, height: 30, time: 1.5, rotate: 90, flip_h: true, latest: false })).toBe(JPEG);
    expect(await responseTo({ width: 0 })).toBe(INVALID);
    expect(await responseTo({ width: null })).toBe(INVALID);
    expect(await responseTo({ width: { px: 40 } })).toBe(INVALID);
    expect(await responseTo({ rotate: 45 })).toBe(INVALID);
    expect(await responseTo({ fit_mode: true })).toBe(FIT_MODE);
  });

  it.each([
    ['thumbnail.jpg', JPEG],
    ['thumbnail.jpeg', JPEG],
    ['thumbnail.png', 'image/png'],
    ['thumbnail.webp', 'image/webp'],
    ['thumbnail.gif', '404 5 Not Found'],
    ['thumbnail.avif', '404 5 Not Found'],
    ['thumbnail', '404 5 Not Found'],
    ['thumbnail.JPG', '404 5 Not Found'],
  ])('%s', async (file, expected) => {
    expect(await outcome(await get(asset.publicId, `${file}?width=32`))).toBe(expected);
  });
});

describe('animated', () => {
  const GIF = 'image/gif';
  const cases: readonly (readonly [string, string])[] = [
    ['end=0.5', GIF],
    ['start=0&end=0.25', GIF],
    ['start=0&end=0.24', INVALID],
    ['start=5.9', GIF],
    ['start=5.9&end=6.1', GIF],
    ['start=5.9&end=6', INVALID],
    ['start=6', INVALID],
    ['start=600', INVALID],
    ['start=-1', INVALID],
    ['start=2&end=1', INVALID],
    ['start=1&end=1', INVALID],
    // Cut at the end of the asset.
    ['start=5&end=99', GIF],
    ['end=later', INVALID],
    ['end=0.5&width=1', GIF],
    ['end=0.5&width=640&fps=2', GIF],
    ['width=641', INVALID],
    ['width=0', INVALID],
    ['height=641', INVALID],
    ['height=0', INVALID],
    ['end=0.5&height=64', GIF],
    ['end=0.5&fps=1', GIF],
    ['end=0.5&fps=30&width=64', GIF],
    ['fps=0', INVALID],
    ['fps=31', INVALID],
    ['fps=7.5', INVALID],
    ['end=0.5&unknown=x&fps=', GIF],
  ];
  it.each(cases)('?%s', async (query, expected) => {
    expect(await outcome(await get(asset.publicId, `animated.gif?${query}`))).toBe(expected);
  });
  it.each(cases)('claims %s', async (query, expected) => {
    const claims = Object.fromEntries(new URLSearchParams(query));
    expect(await outcome(await get(asset.signedId, `animated.gif?token=${token('g', claims)}`))).toBe(expected);
  });
  it.each([
    ['animated.webp', 'image/webp'],
    ['animated.png', '404 5 Not Found'],
    ['animated.jpg', '404 5 Not Found'],
  ])('%s', async (file, expected) => {
    expect(await outcome(await get(asset.publicId, `${file}?end=0.3&width=32`))).toBe(expected);
  });
});

describe('storyboard', () => {
  it.each([
    ['storyboard.jpg', JPEG],
    ['storyboard.png', 'image/png'],
    ['storyboard.webp', 'image/webp'],
    ['storyboard.vtt', 'text/vtt; charset=utf-8'],
    ['storyboard.json', 'application/json'],
    ['storyboard.gif', '404 5 Not Found'],
    ['storyboard.jpeg', '404 5 Not Found'],
  ])('%s', async (file, expected) => {
    expect(await outcome(await get(asset.publicId, file))).toBe(expected);
  });

  const cases: readonly (readonly [string, boolean])[] = [
    ['asset_start_time=1', true],
    ['asset_start_time=1&asset_end_time=2.5', true],
    ['asset_end_time=600', true],
    ['asset_start_time=&asset_end_time=', true],
    ['asset_start_time=6', false],
    ['asset_start_time=-1', false],
    ['asset_start_time=2&asset_end_time=2', false],
    ['asset_start_time=2&asset_end_time=1', false],
    ['asset_start_time=one', false],
    ['asset_end_time=0', false],
    ['program_start_time=1&program_end_time=x', true],
    ['width=640', true],
    ['width=none', true],
  ];
  describe.each(['storyboard.jpg', 'storyboard.vtt', 'storyboard.json'])('%s', (file) => {
    it.each(cases)('?%s', async (query, isGood) => {
      const public_ = await outcome(await get(asset.publicId, `${file}?${query}`));
      const claims = Object.fromEntries(new URLSearchParams(query));
      const signed = await outcome(await get(asset.signedId, `${file}?token=${token('s', claims)}`));
      expect([public_ === INVALID, signed === INVALID]).toEqual([!isGood, !isGood]);
      if (isGood) expect([public_.slice(0, 3), signed]).toEqual([public_.slice(0, 3), public_]);
    });
  });

  it.each(['storyboard.vtt', 'storyboard.json'])('format of %s', async (file) => {
    const imageIn = async (id: string, query: string): Promise<string> => {
      const response = await get(id, `${file}?${query}`);
      const text = await response.text();
      return response.ok ? /storyboard\.\w+/.exec(text)![0] : text;
    };
    for (const format of ['jpg', 'png', 'webp']) {
      expect(await imageIn(asset.publicId, `format=${format}`)).toBe(`storyboard.${format}`);
      expect(await imageIn(asset.signedId, `token=${token('s')}&format=${format}`)).toBe(`storyboard.${format}`);
      expect(await imageIn(asset.signedId, `token=${token('s', { format })}`)).toBe(`storyboard.${format}`);
    }
    expect(await imageIn(asset.publicId, '')).toBe('storyboard.jpg');
    expect(await imageIn(asset.publicId, 'format=')).toBe('storyboard.jpg');
    for (const format of ['gif', 'jpeg', 'WEBP']) {
      expect(await imageIn(asset.publicId, `format=${format}`)).toBe('{"code":3,"message":"Invalid parameter"}');
      expect(await imageIn(asset.signedId, `token=${token('s')}&format=${format}`)).toBe(
        '{"code":3,"message":"Invalid parameter"}',
      );
    }
  });
});

describe('access and state', () => {
  const files = [
    ['thumbnail.jpg', 't'],
    ['animated.gif', 'g'],
    ['storyboard.png', 's'],
    ['storyboard.vtt', 's'],
    ['storyboard.json', 's'],
  ] as const;

  it.each(files)('%s of what cannot be shown', async (file, audience) => {
    const of = async (id: string, query = '') => outcome(await get(id, `${file}${query}`));
    expect(await of(newId())).toBe('404 5 Not Found');
    expect(await of('not-an-id')).toBe('404 5 Not Found');
    expect(await of(others.audio.publicId)).toBe('404 5 Not Found');
    expect(await of(others.preparing.publicId)).toBe('412 9 Asset is not ready');
    expect(await of(others.errored.publicId)).toBe('412 9 Asset is not ready');
    // State comes before parameters, access before state.
    expect(await of(others.preparing.publicId, '?width=0&start=-1&asset_start_time=-1')).toBe(
      '412 9 Asset is not ready',
    );
    expect(await of(others.preparing.signedId)).toBe('403 7 Token is missing');
    const foreign = token(audience, { sub: others.preparing.signedId });
    expect(await of(others.preparing.signedId, `?token=${foreign}`)).toBe('412 9 Asset is not ready');
  });

  it.each(files)('%s needs a token with audience %s', async (file, audience) => {
    const of = async (query: string) => (await get(asset.signedId, `${file}?${query}`)).status;
    const responseTo = async (query: string) => outcome(await get(asset.signedId, `${file}?${query}`));
    expect(await responseTo('')).toBe('403 7 Token is missing');
    expect(await responseTo('token=')).toBe('403 7 Token is missing');
    expect(await responseTo('token=x.y')).toBe('403 7 Token is malformed');
    expect(await responseTo(`token=${token(audience, { sub: asset.publicId })}`)).toBe(
      '403 7 Token subject does not match',
    );
    expect(await responseTo(`token=${token(audience, { exp: inSeconds(-1) })}`)).toBe('403 7 Token has expired');
    for (const other of ['v', 't', 'g', 's', 'd', 'playback_id']) {
      if (other === audience) continue;
      expect(await responseTo(`token=${token(other)}`)).toBe('403 7 Token audience does not match');
    }
    expect(await of(`token=${token(audience)}`)).toBe(200);
    // What the query says beside a token does not count, good or bad.
    expect(await of(`token=${token(audience)}&width=0&start=-1&asset_start_time=-1`)).toBe(200);
  });

  it('a token on a public id is not looked at', async () => {
    expect(await outcome(await get(asset.publicId, 'thumbnail.jpg?token=nonsense'))).toBe(JPEG);
  });
});

/** What a token is answered with, one row per rule. */
import { generateKeyPairSync, sign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { planFile } from '../../support/media/video-run.js';
import { type PreparedAsset, startPlayback } from '../../support/players/playback.js';
import { inSeconds, macToken, type OwnedKey, signToken } from '../../support/players/playback-token.js';

let server: Awaited<ReturnType<typeof startPlayback>>;
let asset: PreparedAsset;
let preparing: PreparedAsset;
let key: OwnedKey;
let second: OwnedKey;
let foreign: OwnedKey;
let publicKeyPem: string;

const newKey = async (sdk: ReturnType<typeof server.sdk>): Promise<OwnedKey> => {
  const { id, private_key } = await sdk.system.signingKeys.create();
  return { keyId: id, keySecret: private_key! };
};

beforeAll(async () => {
  server = await startPlayback();
  asset = await server.addAsset(await planFile(await fixture('h264-aac.mp4')));
  preparing = await server.addAsset({ status: 'preparing' });
  [key, second] = [await newKey(server.sdk()), await newKey(server.sdk())];
  const other = await server.newEnvironment('Other');
  foreign = await newKey(server.sdk(await server.newToken({ name: 'other', environmentId: other.id })));
  const row = server.database.queryable.selectFrom('signing_key').select('public_key').where('id', '=', key.keyId);
  publicKeyPem = (await row.executeTakeFirstOrThrow()).public_key;
});
afterAll(() => server?.stop());

const claims = (over: object = {}) => ({
  kid: key.keyId,
  sub: asset.signedId,
  aud: 'v',
  exp: inSeconds(600),
  ...over,
});
/** Without the names. */
const without = (...names: string[]) =>
  Object.fromEntries(Object.entries(claims()).filter(([name]) => !names.includes(name)));
const encode = (text: string) => Buffer.from(text).toString('base64url');
const responseTo = async (token: string | undefined, { path = `/${asset.signedId}.m3u8`, query = '' } = {}) => {
  const response = await fetch(`${server.origin}${path}?${token === undefined ? '' : `token=${token}`}${query}`);
  const text = await response.text();
  expect(response.headers.get('cache-control')).toMatch(/^private/);
  return response.ok ? response.status : `${response.status} ${JSON.parse(text).code} ${JSON.parse(text).message}`;
};

/** Signed as it is written, whatever it says. */
const signRaw = (payload: string) => {
  const input = `${encode('{"alg":"RS256"}')}.${encode(payload)}`;
  const pem = Buffer.from(key.keySecret, 'base64').toString();
  return `${input}.${sign('sha256', Buffer.from(input), pem).toString('base64url')}`;
};
const reversed = (token: string) => {
  const [header, payload, signature] = token.split('.');
  return `${header}.${payload}.${[...signature!].reverse().join('')}`;
};

describe('a signed id answers', () => {
  test.each<[string, () => string | undefined, string | number]>([
    ['no token', () => undefined, '403 7 Token is missing'],
    ['an empty token', () => '', '403 7 Token is missing'],
    ['one word', () => 'abc', '403 7 Token is malformed'],
    ['two parts', () => `${encode('{}')}.${encode('{}')}`, '403 7 Token is malformed'],
    ['four parts', () => `${signToken(key, claims())}.x`, '403 7 Token is malformed'],
    ['bad base64', () => `${encode('{"alg":"RS256"}')}.e$30.c2ln`, '403 7 Token is malformed'],
    ['a header that is no JSON', () => `${encode('alg')}.${encode('{}')}.c2ln`, '403 7 Token is malformed'],
    ['claims that are a list', () => `${encode('{"alg":"RS256"}')}.${encode('[]')}.c2ln`, '403 7 Token is malformed'],
    ['no algorithm', () => signToken(key, claims(), {}), '403 7 Token algorithm is not supported'],
    [
      'the algorithm none, unsigned',
      () => `${encode('{"alg":"none"}')}.${encode(JSON.stringify(claims()))}.`,
      '403 7 Token algorithm is not supported',
    ],
    ['HS256 with the public key', () => macToken(publicKeyPem, claims()), '403 7 Token algorithm is not supported'],
    ['RS512', () => signToken(key, claims(), { alg: 'RS512' }), '403 7 Token algorithm is not supported'],
    [
      'RS256 written over an HMAC with the public key',
      () => {
        const [, payload, signature] = macToken(publicKeyPem, claims()).split('.');
        return `${encode('{"alg":"RS256"}')}.${payload}.${signature}`;
      },
      '403 7 Token signature is invalid',
    ],
    ['no key id', () => signToken(key, without('kid')), '403 7 Token key is unknown'],
    ['an unknown key', () => signToken(key, claims({ kid: 'A'.repeat(40) })), '403 7 Token key is unknown'],
    ['a key id of a wrong form', () => signToken(key, claims({ kid: "' or 1=1" })), '403 7 Token key is unknown'],
    [
      'an empty key id before a good one in the header',
      () => signToken(key, claims({ kid: '' }), { alg: 'RS256', kid: key.keyId }),
      '403 7 Token key is unknown',
    ],
    [
      'a key of its own in the header',
      () => {
        const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
        const own = {
          keyId: 'own',
          keySecret: Buffer.from(privateKey.export({ type: 'pkcs1', format: 'pem' })).toString('base64'),
        };
        return signToken(own, claims(), { alg: 'RS256', jwk: publicKey.export({ format: 'jwk' }) });
      },
      '403 7 Token signature is invalid',
    ],
    [
      'a header that must be understood',
      () => signToken(key, claims(), { alg: 'RS256', crit: ['x'], x: 1 }),
      '403 7 Token signature is invalid',
    ],
    ['a key id that is a number', () => signToken(key, claims({ kid: 7 })), '403 7 Token key is unknown'],
    [
      'a key of another environment',
      () => signToken(foreign, claims({ kid: foreign.keyId })),
      '403 7 Token key is unknown',
    ],
    ['another key than it names', () => signToken(second, claims()), '403 7 Token signature is invalid'],
    ['a changed signature', () => reversed(signToken(key, claims())), '403 7 Token signature is invalid'],
    ['no signature', () => signToken(key, claims()).replace(/[^.]+$/, ''), '403 7 Token signature is invalid'],
    [
      'changed claims',
      () => {
        const [header, , signature] = signToken(key, claims()).split('.');
        return `${header}.${encode(JSON.stringify(claims({ exp: inSeconds(99_999) })))}.${signature}`;
      },
      '403 7 Token signature is invalid',
    ],
    ['no expiry', () => signToken(key, without('exp')), '403 7 Token has expired'],
    ['an expiry in the past', () => signToken(key, claims({ exp: inSeconds(-1) })), '403 7 Token has expired'],
    ['an expiry now', () => signToken(key, claims({ exp: inSeconds(0) })), '403 7 Token has expired'],
    ['an expiry as text', () => signToken(key, claims({ exp: String(inSeconds(600)) })), '403 7 Token has expired'],
    ...[-1, 0, true, null, [4e9], { at: 4e9 }].map((exp): [string, () => string, string] => [
      `the expiry ${JSON.stringify(exp)}`,
      () => signToken(key, claims({ exp })),
      '403 7 Token has expired',
    ]),
    [
      'an expiry that no number holds',
      () => signRaw(JSON.stringify(claims()).replace(/\d{10}/, '1e999')),
      '403 7 Token has expired',
    ],
    ['a time to come', () => signToken(key, claims({ nbf: inSeconds(60) })), '403 7 Token is not yet valid'],
    ['a start as text', () => signToken(key, claims({ nbf: '1' })), '403 7 Token is not yet valid'],
    [
      'a start that no number holds',
      () => signRaw(JSON.stringify(claims({ nbf: 1 })).replace('"nbf":1', '"nbf":1e999')),
      '403 7 Token is not yet valid',
    ],
    [
      'a subject in a list',
      () => signToken(key, claims({ sub: [asset.signedId] })),
      '403 7 Token subject does not match',
    ],
    [
      'its subject in lower case',
      () => signToken(key, claims({ sub: asset.signedId.toLowerCase() })),
      '403 7 Token subject does not match',
    ],
    ['another subject', () => signToken(key, claims({ sub: asset.publicId })), '403 7 Token subject does not match'],
    ['no subject', () => signToken(key, without('sub')), '403 7 Token subject does not match'],
    ['no audience', () => signToken(key, without('aud')), '403 7 Token audience does not match'],
    ['an audience as a part', () => signToken(key, claims({ aud: 'video' })), '403 7 Token audience does not match'],
    ['an audience in capitals', () => signToken(key, claims({ aud: 'V' })), '403 7 Token audience does not match'],
    ['an audience as a key', () => signToken(key, claims({ aud: { v: true } })), '403 7 Token audience does not match'],
    ['a list in a list', () => signToken(key, claims({ aud: [['v']] })), '403 7 Token audience does not match'],
    ['an empty list', () => signToken(key, claims({ aud: [] })), '403 7 Token audience does not match'],
    ...['t', 'g', 's', 'd', 'video_id', 'asset_id', 'playback_id', 'live_stream_id'].map(
      (aud): [string, () => string, string] => [
        `the audience ${aud}`,
        () => signToken(key, claims({ aud })),
        '403 7 Token audience does not match',
      ],
    ),
    [
      'a bad modifier',
      () => signToken(key, claims({ max_resolution: '711p' })),
      '400 3 Invalid parameter: max_resolution',
    ],
    [
      'a bad modifier before its restriction',
      () => signToken(key, claims({ asset_start_time: -1, playback_restriction_id: 'x' })),
      '400 3 Invalid parameter: asset_start_time',
    ],
    [
      'an unknown restriction',
      () => signToken(key, claims({ playback_restriction_id: 'B'.repeat(40) })),
      '403 7 Playback restriction is invalid',
    ],
    [
      'a restriction that is no text',
      () => signToken(key, claims({ playback_restriction_id: 7 })),
      '403 7 Playback restriction is invalid',
    ],
    ['a good token', () => signToken(key, claims()), 200],
    ['a list of audiences', () => signToken(key, claims({ aud: ['t', 'v'] })), 200],
    ['a start before all time', () => signToken(key, claims({ nbf: -1.5 })), 200],
    ['the key id in the header', () => signToken(key, without('kid'), { alg: 'RS256', kid: key.keyId }), 200],
    ['the key id in both, the payload right', () => signToken(key, claims(), { alg: 'RS256', kid: 'nobody' }), 200],
    [
      'the key id in both, the payload wrong',
      () => signToken(key, claims({ kid: second.keyId }), { alg: 'RS256', kid: key.keyId }),
      '403 7 Token signature is invalid',
    ],
    ['other claims', () => signToken(key, claims({ iat: 'x', iss: 1, jti: null, custom: { a: [] }, nbf: 1 })), 200],
    ['empty modifiers', () => signToken(key, claims({ max_resolution: '', asset_start_time: null })), 200],
    ['an expiry far away', () => signToken(key, claims({ exp: 1e300 })), 200],
    ['an expiry with a fraction', () => signToken(key, claims({ exp: inSeconds(600) + 0.5 })), 200],
  ])('%s', async (_, token, expected) => {
    expect(await responseTo(token())).toBe(expected);
  });

  test('rules in the order of the table: an expired token of an unknown key is of an unknown key', async () => {
    const broken = { exp: 1, nbf: inSeconds(99), sub: 'x', aud: 'x', max_resolution: 'x' };
    const steps: [object, string][] = [
      [{ kid: 'x' }, 'Token key is unknown'],
      [{}, 'Token has expired'],
      [{ exp: inSeconds(600) }, 'Token is not yet valid'],
      [{ nbf: 1 }, 'Token subject does not match'],
      [{ sub: asset.signedId }, 'Token audience does not match'],
    ];
    let over: object = broken;
    for (const [fixed, message] of steps) {
      over = { ...over, ...fixed, ...('kid' in fixed ? {} : { kid: key.keyId }) };
      expect(await responseTo(signToken(key, claims(over)))).toBe(`403 7 ${message}`);
    }
  });
});

test('access comes before the state; the same token opens every kind of address of its id', async () => {
  const token = signToken(key, claims({ sub: preparing.signedId }));
  for (const path of ['.m3u8', '', '/metadata.json', '/720p.mp4']) {
    const of = (id: string) => ({ path: `/${id}${path}` });
    expect(await responseTo(token, of(preparing.signedId)), path).toBe('412 9 Asset is not ready');
    expect(await responseTo(undefined, of(preparing.signedId)), path).toBe('403 7 Token is missing');
    expect(await responseTo(token, of(asset.signedId)), path).toBe('403 7 Token subject does not match');
  }
});

test('a public id ignores tokens; of several tokens the last one counts', async () => {
  expect((await fetch(`${server.origin}/${asset.publicId}.m3u8?token=abc`)).status).toBe(200);
  const good = signToken(key, claims());
  expect(await responseTo('abc', { query: `&token=${good}` })).toBe(200);
  expect(await responseTo(good, { query: '&token=abc' })).toBe('403 7 Token is malformed');
});

test('a removed key opens nothing any more, at once', async () => {
  const short = await newKey(server.sdk());
  const token = signToken(short, claims({ kid: short.keyId }));
  expect(await responseTo(token)).toBe(200);
  await server.sdk().system.signingKeys.delete(short.keyId);
  expect(await responseTo(token)).toBe('403 7 Token key is unknown');
});

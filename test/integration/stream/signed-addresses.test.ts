/**
 * What becomes of a signed address that somebody alters, and of methods and failures, as raw
 * requests.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { planFile } from '../../support/media/video-run.js';
import { type PreparedAsset, startPlayback } from '../../support/players/playback.js';
import { inSeconds, type OwnedKey, signToken } from '../../support/players/playback-token.js';
import { startApi } from '../../support/servers/api.js';
import { alteredAddresses, same } from '../../support/wire/altered-urls.js';
import { type RawResponse, sendRaw } from '../../support/wire/raw-get.js';

let server: Awaited<ReturnType<typeof startPlayback>>;
let asset: PreparedAsset;
let other: PreparedAsset;
let key: OwnedKey;
let token: string;
/** Of a token that allows 270p alone: the path of the first segment, and its query. */
let segment: string;
let query: string;

const get = (path: string, method?: string, headers?: Record<string, string>) =>
  sendRaw(server.origin, path, method, headers);

beforeAll(async () => {
  server = await startPlayback();
  const source = await planFile(await fixture('copy-720p.mp4'));
  [asset, other] = [await server.addAsset(source), await server.addAsset(source)];
  const { id, private_key } = await server.sdk().system.signingKeys.create();
  key = { keyId: id, keySecret: private_key! };
  const claims = { kid: id, sub: asset.signedId, aud: 'v', exp: inSeconds(600), max_resolution: '270p' };
  token = signToken(key, claims);
  const master = (await get(`/${asset.signedId}.m3u8?token=${token}`)).body.toString();
  const child = /^\S+\/270p\/playlist\.m3u8\?\S+$/m.exec(master)![0];
  [segment, query] = `/${child.replace('playlist.m3u8', '0.m4s')}`.split('?') as [string, string];
});
afterAll(() => server?.stop());

describe('a signed segment', () => {
  const address = () => ({ id: asset.signedId, otherId: other.signedId, segment, query, token });
  test.each(alteredAddresses(address))('%s', async (_, path, expected) => {
    const { status, headers, body } = await get(path());
    if (expected === same) {
      const open = await get(`${segment.replace(asset.signedId, asset.publicId)}`);
      expect([status, body.equals(open.body)]).toEqual([200, true]);
      expect(headers['cache-control']).toBe('private, max-age=3600');
    } else {
      expect(`${status} ${JSON.parse(body.toString()).message}`).toBe(expected);
      expect(headers['cache-control']).toMatch(status === 404 ? /^(private, )?no-cache$/ : /^private, no-cache$/);
    }
  });

  test('answers HEAD like GET without a body, and a range', async () => {
    const whole = await get(`${segment}?${query}`);
    const head = await get(`${segment}?${query}`, 'HEAD');
    const lasting = ({ headers: { date, 'x-request-id': id, ...rest } }: RawResponse) => rest;
    expect([head.status, head.body.length, lasting(head)]).toEqual([200, 0, lasting(whole)]);
    const bareHead = await get(segment, 'HEAD');
    expect([bareHead.status, bareHead.headers['cache-control']]).toEqual([403, 'private, no-cache']);
    const beyond = await get(`${segment}?${query}`, 'GET', { range: 'bytes=99999999-' });
    expect([beyond.status, beyond.headers['cache-control']]).toEqual([416, 'private, no-cache']);
  });

  test('tells browsers what they may ask without a signature, and refuses to be changed', async () => {
    for (const path of [segment, `/${asset.signedId}.m3u8`, `/${asset.signedId}/thumbnail.jpg`]) {
      const allowed = await get(path, 'OPTIONS');
      expect([allowed.status, allowed.body.length]).toEqual([204, 0]);
      expect(allowed.headers).toMatchObject({ 'access-control-allow-origin': '*' });
      expect((await get(`${path}?${query}`, 'PUT')).status).toBe(405);
    }
  });
});

test('a failure is not kept by caches as the file would have been', async () => {
  const api = await startApi({
    streamPlugin: async (scope) => {
      for (const kept of ['public, max-age=31536000, immutable', 'private, max-age=3600']) {
        scope.get(`/files/${kept.split(',')[0]}`, async (_, reply) => {
          reply.header('cache-control', kept);
          throw new Error('the file could not be opened');
        });
      }
    },
  });
  try {
    for (const [path, expected] of [
      ['/files/public', 'no-cache'],
      ['/files/private', 'private, no-cache'],
    ] as const) {
      const { status, headers } = await sendRaw(api.origin, path);
      expect([status, headers['cache-control']]).toEqual([500, expected]);
    }
  } finally {
    await api.stop();
  }
});

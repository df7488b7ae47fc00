/** Key services and license servers of the operator, each as a server of its own. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { planFile } from '../../support/media/video-run.js';
import { startPlayback } from '../../support/players/playback.js';
import { inSeconds, type OwnedKey, signToken } from '../../support/players/playback-token.js';
import { type KeyService, serviceKey, signaling, startKeyService } from '../../support/servers/key-service.js';
import { type Origin, startOrigin } from '../../support/servers/origin.js';

const WIDEVINE = 'edef8ba9-79d6-4ace-a3c8-27dcd51d21ed';
const PLAYREADY = '9a04f079-9840-4286-ab92-e65be0885f95';
const FAIRPLAY = '94ce86fb-07ff-4f43-adb8-93d2fa968ca2';

let server: Awaited<ReturnType<typeof startPlayback>>;
let service: KeyService;
let upstream: Origin;
let upstreamSays: { status: number; body: Buffer; location?: string } | 'hangs up';
let seen: { method: string; url: string; headers: Record<string, unknown>; body: Buffer }[];
let key: OwnedKey;
let assetId: string;

beforeAll(async () => {
  // Only what a configuration allows: the option for imports stays closed.
  server = await startPlayback({ allowServices: false });
  service = await startKeyService();
  upstream = await startOrigin(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    seen.push({ method: request.method!, url: request.url!, headers: request.headers, body: Buffer.concat(chunks) });
    if (upstreamSays === 'hangs up') return void request.socket.destroy();
    const { status, body, location } = upstreamSays;
    response.writeHead(status, { ...(location && { location }) }).end(body);
  });
  const created = await server.sdk().system.signingKeys.create();
  key = { keyId: created.id, keySecret: created.private_key! };
  ({ assetId } = await server.addAsset(await planFile(await fixture('h264-aac.mp4'), { quality: 'plus' })));
});
afterAll(async () => {
  await server?.stop();
  await service?.stop();
  await upstream?.stop();
});
beforeEach(() => {
  seen = [];
  upstreamSays = { status: 200, body: Buffer.from([0, 1, 2, 255]) };
  service.response = undefined;
  service.asked.length = 0;
});

const token = (playbackId: string, aud: string) =>
  signToken(key, { kid: key.keyId, sub: playbackId, aud, exp: inSeconds(600) });
const message = async (response: Response) => `${response.status} ${JSON.stringify(await response.json())}`;
const playlist = (id: string) => fetch(`${server.origin}/${id}.m3u8?token=${token(id, 'v')}`);

const cpixId = () =>
  server.addDrmId(assetId, 'cpix', {
    clearKey: true,
    licenses: {},
    allowPrivate: ['127.0.0.0/8'],
    cpix: { url: `${service.url}/speke?key=hidden`, headers: { authorization: 'Basic c3Bla2U=' } },
  });

describe('a key service', () => {
  test('is asked once, by a valid document, and its answer is used as it is', async () => {
    const id = await cpixId();
    const master = await (await playlist(id)).text();
    expect((await playlist(id)).status).toBe(200);
    expect(service.asked).toHaveLength(1);
    const [{ headers, body, problems }] = service.asked as [KeyService['asked'][number]];
    expect(problems).toEqual([]);
    expect(headers).toMatchObject({
      'x-speke-version': '2.0',
      'content-type': 'application/xml',
      authorization: 'Basic c3Bla2U=',
    });
    expect(body).toContain(`contentId="${assetId}"`);
    const kids = [...body.matchAll(/<cpix:ContentKey kid="([^"]+)"/g)].map((match) => match[1]!);
    expect(new Set(kids).size).toBe(2);
    expect(body).toContain(`kid="${kids[0]}" intendedTrackType="VIDEO"`);
    expect(body).toContain(`kid="${kids[1]}" intendedTrackType="AUDIO"`);
    for (const kid of kids)
      for (const systemId of [WIDEVINE, PLAYREADY, FAIRPLAY])
        expect(master).toContain(`#EXT-X-SESSION-KEY:${signaling(systemId, kid)}\n`);
    const license = await fetch(`${server.origin}/license/clearkey/${id}?token=${token(id, 'd')}`, {
      method: 'POST',
      body: JSON.stringify({
        kids: kids.map((kid) => Buffer.from(kid.replaceAll('-', ''), 'hex').toString('base64url')),
      }),
    });
    const { keys } = (await license.json()) as { keys: { k: string }[] };
    expect(keys.map(({ k }) => k)).toEqual(kids.map((kid) => serviceKey(kid).toString('base64url')));
  });
});

const licensedId = (allowPrivate: boolean | string[] = ['127.0.0.1']) => {
  const licenses = {
    widevine: { url: `${upstream.url}/wv?a=b`, headers: { 'x-api-key': 'upstream-secret' } },
    playready: { url: `${upstream.url}/pr` },
    fairplay: { url: `${upstream.url}/fp` },
  };
  const fairplayCertificate = { url: `${upstream.url}/cert` };
  return server.addDrmId(assetId, 'local', { clearKey: false, licenses, fairplayCertificate, allowPrivate });
};
const challenge = (id: string, system: string, headers: Record<string, string> = {}) =>
  fetch(`${server.origin}/license/${system}/${id}?token=${token(id, 'd')}`, {
    method: 'POST',
    body: Buffer.from([8, 4, 0, 255]),
    headers,
  });

describe('a license server', () => {
  test.each([
    ['widevine', '/wv?a=b'],
    ['playready', '/pr'],
    ['fairplay', '/fp'],
  ])('of %s gets the challenge as it is', async (system, url) => {
    const response = await challenge(await licensedId(), system, { 'content-type': 'text/xml', soapaction: '"x"' });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/octet-stream']);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.from([0, 1, 2, 255]));
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: 'POST', url, headers: { 'content-type': 'text/xml', soapaction: '"x"' } });
    expect(seen[0]!.body).toEqual(Buffer.from([8, 4, 0, 255]));
    if (system === 'widevine') expect(seen[0]!.headers['x-api-key']).toBe('upstream-secret');
  });

  test('gives the certificate of FairPlay', async () => {
    const id = await licensedId();
    const response = await fetch(`${server.origin}/appcert/fairplay/${id}?token=${token(id, 'd')}`);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.from([0, 1, 2, 255]));
    expect(seen[0]).toMatchObject({ method: 'GET', url: '/cert' });
    expect(await message(await fetch(`${server.origin}/appcert/fairplay/${id}`))).toBe(
      '400 {"code":3,"message":"Token is missing"}',
    );
  });

  test('that refuses is a 502, one that is unavailable a 503, and the log says whose it is', async () => {
    const id = await licensedId();
    for (const status of [403, 500, 302]) {
      upstreamSays = { status, body: Buffer.from('secret reason'), location: `${upstream.url}/elsewhere` };
      const text = await message(await challenge(id, 'widevine'));
      expect(text).toBe('502 {"code":14,"message":"The license service refused the request"}');
    }
    // A redirect is not followed.
    expect(seen.map(({ url }) => url)).toEqual(['/wv?a=b', '/wv?a=b', '/wv?a=b']);
    upstreamSays = 'hangs up';
    const away = await challenge(id, 'widevine');
    expect([away.status, away.headers.get('retry-after')]).toEqual([503, '2']);
    const log = JSON.stringify(server.requestLog);
    expect(log).toContain('"drm_configuration_id"');
    expect(log).not.toContain('upstream-secret');
  });

  test('on a private address is not asked unless the configuration allows it', async () => {
    for (const allowPrivate of [false, ['10.0.0.0/8']]) {
      const response = await challenge(await licensedId(allowPrivate), 'widevine');
      expect(response.status).toBe(503);
    }
    expect(seen).toEqual([]);
    expect((await challenge(await licensedId(true), 'widevine')).status).toBe(200);
  });

  test('does not open ClearKey', async () => {
    const id = await licensedId();
    expect((await challenge(id, 'clearkey')).status).toBe(404);
    expect(await (await playlist(id)).text()).not.toContain('clearkey');
  });
});

test('the player page names the key systems that have licenses, and keeps the license token out of playlists', async () => {
  const id = await licensedId();
  const [viewer, license] = [token(id, 'v'), token(id, 'd')];
  const page = async (query: string) =>
    (await fetch(`${server.origin}/${id}?${query}`, { headers: { accept: 'text/html' } })).text();
  const text = await page(`a=b&playback-token=${viewer}&drm-token=${license}`);
  expect(text).toContain(`data-source="/${id}.m3u8?a=b&#38;token=${viewer}"`);
  expect(text).toContain('data-key-systems="widevine playready fairplay"');
  expect(text).toContain(`data-license-token="${license}"`);
  const refused = await page(`drm-token=${license}`);
  expect(refused).toContain('data-status="403"');
  expect(refused).not.toContain(license);
  const [asset] = await server.database.queryable
    .selectFrom('playback_id')
    .select('id')
    .where('asset_id', '=', assetId)
    .where('policy', '=', 'public')
    .execute();
  const open = await fetch(`${server.origin}/${asset!.id}?drm-token=${license}`, { headers: { accept: 'text/html' } });
  expect(await open.text()).toContain('data-key-systems=""');
});

test('given keys are those of every asset', async () => {
  const video = { kid: '00112233445566778899aabbccddeeff', key: 'f0e0d0c0b0a090807060504030201000' };
  const settings = { clearKey: true, licenses: {}, allowPrivate: false, keys: { video, audio: video } };
  const id = await server.addDrmId(assetId, 'static', settings);
  const master = await (await playlist(id)).text();
  expect(master.match(/KEYFORMAT="org.w3.clearkey"/g)).toHaveLength(1);
  expect(master).toContain(`KEYID=0x${video.kid}`);
  const kid = Buffer.from(video.kid, 'hex').toString('base64url');
  const license = await fetch(`${server.origin}/license/clearkey/${id}?token=${token(id, 'd')}`, {
    method: 'POST',
    body: JSON.stringify({ kids: [kid] }),
  });
  expect(await license.json()).toEqual({
    keys: [{ kty: 'oct', kid, k: Buffer.from(video.key, 'hex').toString('base64url') }],
    type: 'temporary',
  });
});

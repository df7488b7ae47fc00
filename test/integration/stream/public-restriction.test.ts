import { afterAll, beforeAll, expect, test } from 'vitest';
import { GENERATION } from '#kinora/media/plan/generation.js';
import { fixture } from '../../support/media/fixtures.js';
import { type PlannedSource, planFile } from '../../support/media/video-run.js';
import { type PreparedAsset, startPlayback } from '../../support/players/playback.js';
import { freePort } from '../../support/servers/free-port.js';
import { nginxPath, startNginx } from '../../support/servers/nginx.js';

let server: Awaited<ReturnType<typeof startPlayback>>;
let source: PlannedSource;
let asset: PreparedAsset;
let restrictionId: string;

const PATH = '/video/v1/public-playback-restriction';
const RESTRICTIONS = '/video/v1/playback-restrictions';

beforeAll(async () => {
  server = await startPlayback({ trustedProxies: ['127.0.0.1/32'] });
  source = await planFile(await fixture('h264-aac.mp4'));
  asset = await server.addAsset(source);
  const rules = { referrer: { allowed_domains: ['example.com'] }, user_agent: { allow_no_user_agent: false } };
  restrictionId = (await (await server.call('POST', RESTRICTIONS, rules)).json()).data.id;
});
afterAll(() => server?.stop());

const GOOD = { referer: 'https://example.com/watch' };
const BAD = { referer: 'https://thief.test/' };
const get = (path: string, headers: Record<string, string> = {}, origin = server.origin) =>
  fetch(origin + path, { headers });
const segment = () => `/${asset.publicId}/${GENERATION}/${source.video.renditions[0]!.name}/0.m4s`;
const everything = () => [
  `/${asset.publicId}.m3u8`,
  `/${asset.publicId}.mpd`,
  segment().replace('0.m4s', 'playlist.m3u8'),
  segment(),
  `/${asset.publicId}/metadata.json`,
  `/${asset.publicId}/thumbnail.webp?time=1&width=100`,
  `/${asset.publicId}/storyboard.vtt`,
];
const restrict = async (id: string | null): Promise<void> => {
  const response = await server.call('PUT', PATH, { playback_restriction_id: id });
  expect([response.status, await response.json()]).toEqual([200, { data: { playback_restriction_id: id } }]);
};

test('public IDs play for everyone until a restriction applies, and shared caches may keep them', async () => {
  expect(await (await server.call('GET', PATH)).json()).toEqual({ data: { playback_restriction_id: null } });
  for (const path of everything()) {
    const response = await get(path, BAD);
    expect([path, response.status]).toEqual([path, 200]);
    expect(response.headers.get('cache-control')).not.toContain('private');
  }
});

test('a restriction holds for everything of public IDs, and no shared cache keeps it', async () => {
  await restrict(restrictionId);
  expect(await (await server.call('GET', PATH)).json()).toEqual({ data: { playback_restriction_id: restrictionId } });
  for (const path of everything()) {
    const right = await get(path, GOOD);
    expect([path, right.status]).toEqual([path, 200]);
    expect(right.headers.get('cache-control')).toContain('private');
    for (const headers of [BAD, {}, { origin: 'https://thief.test' }, { ...GOOD, 'user-agent': '' }]) {
      const wrong = await get(path, headers as Record<string, string>);
      expect([path, headers, wrong.status]).toEqual([path, headers, 403]);
      expect(await wrong.json()).toEqual({ code: 7, message: 'Playback is restricted' });
      expect(wrong.headers.get('cache-control')).toMatch(/no-cache/);
    }
  }
  // The player page is checked for where it is embedded; what it loads comes from itself.
  const page = (referer: string) => get(`/${asset.publicId}`, { accept: 'text/html', referer });
  expect((await page('https://example.com/blog')).status).toBe(200);
  expect((await page('https://thief.test/blog')).status).toBe(403);
  const ownPage = { referer: `${server.origin}/${asset.publicId}` };
  expect((await get(segment(), ownPage)).status).toBe(200);
  expect((await get(segment(), { ...ownPage, 'user-agent': '' })).status).toBe(403);
  // Whoever asks how to embed the page is not who watches it.
  const oembed = `/oembed?url=${encodeURIComponent(`${server.origin}/${asset.publicId}`)}`;
  expect((await get(oembed)).status).toBe(200);
});

test('its rule for requests without a referrer applies', async () => {
  const path = `${RESTRICTIONS}/${restrictionId}/referrer`;
  await server.call('PUT', path, { allowed_domains: ['example.com'], allow_no_referrer: true });
  expect((await get(segment())).status).toBe(200);
  expect((await get(segment(), BAD)).status).toBe(403);
  await server.call('PUT', path, { allowed_domains: ['example.com'], allow_no_referrer: false });
  expect((await get(segment())).status).toBe(403);
});

test('another website is not the own page by naming its own host, where a proxy passes that on', async () => {
  const forwarded = { ...BAD, 'x-forwarded-host': 'thief.test', 'sec-fetch-site': 'cross-site' };
  for (const path of everything()) expect([path, (await get(path, forwarded)).status]).toEqual([path, 403]);
  const own = { referer: `${server.origin}/${asset.publicId}`, 'sec-fetch-site': 'same-origin' };
  expect((await get(segment(), own)).status).toBe(200);
});

test('signed IDs follow their token alone', async () => {
  const mux = server.sdk();
  const { id: keyId, private_key } = await mux.system.signingKeys.create();
  const token = await mux.jwt.signPlaybackId(asset.signedId, { keyId, keySecret: private_key!, expiration: '1h' });
  expect((await get(`/${asset.signedId}.m3u8?token=${token}`, BAD)).status).toBe(200);
});

test('it stays while it applies, and another environment has its own', async () => {
  const refused = await server.call('DELETE', `${RESTRICTIONS}/${restrictionId}`);
  expect([refused.status, await refused.json()]).toEqual([
    400,
    {
      error: {
        type: 'invalid_parameters',
        messages: ['The playback restriction applies to public playback IDs, which would be open without it'],
      },
    },
  ]);
  const elsewhere = await server.newEnvironment('elsewhere');
  const permissions = ['video:read', 'video:write'] as const;
  const token = await server.newToken({ environmentId: elsewhere.id, name: 'foreign', permissions: [...permissions] });
  const foreign = await server.callAs(token, 'PUT', PATH, { playback_restriction_id: restrictionId });
  expect([foreign.status, (await foreign.json()).error.messages]).toEqual([
    400,
    ['playback_restriction_id does not refer to an existing playback restriction'],
  ]);
  expect((await (await server.callAs(token, 'GET', PATH)).json()).data).toEqual({ playback_restriction_id: null });
});

test.skipIf(!nginxPath)('nginx keeps nothing that depends on the referrer', async () => {
  const nginx = await startNginx(await freePort(), server.origin);
  try {
    for (let round = 0; round < 2; round++)
      for (const [headers, status] of [
        [GOOD, 200],
        [BAD, 403],
        [{}, 403],
        [GOOD, 200],
      ] as const)
        for (const path of everything()) {
          const response = await get(path, headers, nginx.url);
          expect([path, response.status]).toEqual([path, status]);
          expect(response.headers.get('x-cache-status')).not.toBe('HIT');
        }
  } finally {
    await nginx.stop();
  }
});

test('without it, everyone plays again', async () => {
  await restrict(null);
  for (const path of everything()) expect((await get(path, BAD)).status).toBe(200);
  expect((await server.call('DELETE', `${RESTRICTIONS}/${restrictionId}`)).status).toBe(204);
});

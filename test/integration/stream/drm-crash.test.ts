/** A server that is killed while keys are made or a license is on its way. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import type { OwnedKey } from '../../support/players/playback-token.js';
import { type KeyService, serviceKey, startKeyService } from '../../support/servers/key-service.js';
import { type Origin, startOrigin } from '../../support/servers/origin.js';
import { cleanUpServers, makeDataDir, type ServerProcess, startServer } from '../../support/servers/server-process.js';
import { serveFiles } from '../../support/wire/create-asset.js';
import { createDrmAsset, createDrmConfiguration, createSigningKey, playbackToken } from '../../support/wire/drm.js';

let dataDir: string;
let server: ServerProcess;
let files: Origin;
let service: KeyService;
let upstream: Origin;
let responsesLicenses = false;
let signing: OwnedKey;

beforeAll(async () => {
  dataDir = makeDataDir();
  files = await serveFiles([await fixture('h264-aac.mp4')]);
  service = await startKeyService();
  upstream = await startOrigin((_, response) => {
    if (responsesLicenses) response.end('license');
  });
  server = await startServer({ dataDir });
  signing = await createSigningKey(server);
});
afterAll(async () => {
  await cleanUpServers();
  await files?.stop();
  await service?.stop();
  await upstream?.stop();
});

const killAndRestart = async (): Promise<void> => {
  await server.kill();
  server = await startServer({ dataDir });
};
const playlist = (id: string) => fetch(`${server.url}/${id}.m3u8?token=${playbackToken(signing, id, 'v')}`);
const kidsOf = async (id: string) => {
  const text = await (await playlist(id)).text();
  return [...new Set([...text.matchAll(/KEYID=0x([0-9a-f]{32})/g)].map((match) => match[1]!))];
};
const post = (id: string, system: string, body: string) =>
  fetch(`${server.url}/license/${system}/${id}?token=${playbackToken(signing, id, 'd')}`, { method: 'POST', body });
const keysOf = async (id: string, kids: readonly string[]): Promise<string[]> => {
  const asked = kids.map((kid) => Buffer.from(kid, 'hex').toString('base64url'));
  const { keys } = (await (await post(id, 'clearkey', JSON.stringify({ kids: asked }))).json()) as {
    keys: { k: string }[];
  };
  return keys.map(({ k }) => Buffer.from(k, 'base64url').toString('hex'));
};

test('keys and licenses survive a server that is killed while they are made', async () => {
  const settings = join(dataDir, '..', 'drm.json');
  writeFileSync(settings, JSON.stringify({ 'cpix-url': service.url, 'clear-key': 'true' }));
  const [local, cpix] = [
    await createDrmConfiguration({ dataDir }, [
      ...['--key-source', 'local', '--clear-key', 'true'],
      ...['--widevine-url', upstream.url],
    ]),
    await createDrmConfiguration({ dataDir }, ['--key-source', 'cpix', '--settings', settings]),
  ];
  const policies = [local, cpix].map((id) => ({ policy: 'drm', drm_configuration_id: id }));
  const { asset } = await createDrmAsset(server, local, {
    inputs: [{ url: `${files.url}/0` }],
    advanced_playback_policies: policies,
  });
  const idOf = (configuration: string) =>
    asset.playback_ids!.find(({ drm_configuration_id: id }) => id === configuration)!.id;
  const [localId, cpixId] = [idOf(local), idOf(cpix)];

  service.response = () => undefined;
  const lost = [playlist(cpixId), post(localId, 'widevine', 'challenge')].map((sent) => sent.catch(() => 'lost'));
  await expect.poll(() => [service.asked.length, upstream.requests.length]).toEqual([1, 1]);
  // Once a player was told of keys they are kept, whatever happens in the next moment.
  const told = await kidsOf(localId);
  await killAndRestart();
  expect(await Promise.all(lost)).toEqual(['lost', 'lost']);
  expect(told).toHaveLength(2);
  expect(await kidsOf(localId)).toEqual(told);
  const localKeys = await keysOf(localId, told);

  // The service is asked for the same keys again, as it may have made them.
  service.response = undefined;
  const cpixKids = await kidsOf(cpixId);
  expect(service.asked.map(({ body }) => body)).toEqual([service.asked[0]!.body, service.asked[0]!.body]);
  const uuids = [...service.asked[0]!.body.matchAll(/ContentKey kid="([^"]+)"/g)].map((match) => match[1]!);
  const serviceKeys = uuids.map((uuid) => serviceKey(uuid).toString('hex'));
  expect(
    await keysOf(
      cpixId,
      uuids.map((uuid) => uuid.replaceAll('-', '')),
    ),
  ).toEqual(serviceKeys);

  responsesLicenses = true;
  const response = await post(localId, 'widevine', 'challenge');
  expect([response.status, await response.text()]).toEqual([200, 'license']);
  expect(upstream.requests).toHaveLength(2);

  await killAndRestart();
  expect([await keysOf(localId, told), await keysOf(cpixId, cpixKids)]).toEqual([localKeys, serviceKeys]);
  expect(service.asked).toHaveLength(2);
});

/**
 * `kinora drm`, what the API tells of the configurations, and that no key lies around unencrypted.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { runCli } from '../../support/processes/run-cli.js';
import type { Origin } from '../../support/servers/origin.js';
import {
  cleanUpServers,
  filesBelow,
  makeDataDir,
  type ServerProcess,
  startServer,
} from '../../support/servers/server-process.js';
import { api, createAsset, serveFiles } from '../../support/wire/create-asset.js';
import { createDrmAsset, createSigningKey, playbackToken } from '../../support/wire/drm.js';

const KID = '0123456789abcdef0123456789abcdef';
const KEY = 'fedcba98765432100123456789abcdef';

let dataDir: string;
let server: ServerProcess;
let files: Origin;

beforeAll(async () => {
  dataDir = makeDataDir();
  files = await serveFiles([await fixture('h264-aac.mp4')]);
  server = await startServer({ dataDir });
});
afterAll(async () => {
  await cleanUpServers();
  await files?.stop();
});

const kinora = (...args: string[]) => runCli(args, { KINORA_DATA_DIR: dataDir });
const create = async (...flags: string[]) => {
  const { status, stdout, stderr } = await kinora('drm', 'create', '--name', 'test', ...flags);
  expect([status, stderr]).toEqual([0, '']);
  return stdout.trim();
};

describe('kinora drm', () => {
  test('create prints the id, which the API lists and reads', async () => {
    const id = await create('--key-source', 'local');
    expect(id).toMatch(/^[A-Za-z0-9]{40}$/);
    const later = await create('--key-source', 'static', '--key', `${KID}:${KEY}`);
    const mux = new Mux({ baseURL: server.url, tokenId: server.token.id, tokenSecret: server.token.secret });
    expect((await mux.video.drmConfigurations.list()).data).toEqual([{ id: later }, { id }]);
    expect(await mux.video.drmConfigurations.retrieve(id)).toEqual({ id });
    expect((await mux.video.drmConfigurations.list({ limit: 1, page: 2 })).data).toEqual([{ id }]);
  });

  test('list and show tell no secret', async () => {
    const settings = join(dataDir, '..', 'drm.json');
    const url = 'https://user:pass-word@keys.example.com/speke?api=query-secret';
    writeFileSync(
      settings,
      JSON.stringify({ 'cpix-url': url, 'cpix-header': ['Authorization: header-secret', 'X-A: b'] }),
    );
    const id = await create(
      '--key-source',
      'cpix',
      '--settings',
      settings,
      '--widevine-url',
      'https://wv.example.com/',
    );
    const shown = JSON.parse((await kinora('drm', 'show', id, '--json')).stdout);
    expect(shown).toMatchObject({
      id,
      name: 'test',
      key_source: 'cpix',
      clear_key: false,
      allow_private: false,
      urls: { cpix: 'https://keys.example.com/speke', widevine: 'https://wv.example.com/' },
    });
    const [list, text] = [await kinora('drm', 'list'), await kinora('drm', 'show', id)];
    expect(list.stdout).toContain(id);
    expect(JSON.parse((await kinora('drm', 'list', '--json')).stdout)[0]).toMatchObject({ id, key_source: 'cpix' });
    for (const { stdout } of [list, text]) expect(stdout).not.toMatch(/pass-word|query-secret|header-secret/);
  });

  test.each<[string[], string]>([
    [[], '--key-source must be one of local, static, cpix.'],
    [['--key-source', 'other'], '--key-source must be one of local, static, cpix.'],
    [['--key-source', 'static'], '--key is required for, and only allowed with, the key source static.'],
    [
      ['--key-source', 'local', '--key', `${KID}:${KEY}`],
      '--key is required for, and only allowed with, the key source static',
    ],
    [['--key-source', 'static', '--key', 'x'], '--key must be <key id>:<key> or <key id>:<key>:<iv>, 32 hexadecimal'],
    [
      ['--key-source', 'static', '--key', `${KID}:${KEY}`, '--audio-key', `${KID}:${KID}`],
      '--audio-key needs its own key ID',
    ],
    [
      ['--key-source', 'local', '--fairplay-certificate', '/dev'],
      '--fairplay-certificate: /dev is not a file, or is empty.',
    ],
    [['--key-source', 'cpix'], '--cpix-url is required for, and only allowed with, the key source cpix.'],
    [['--key-source', 'cpix', '--cpix-url', 'ftp://x'], '--cpix-url must be an http or https URL.'],
    [['--key-source', 'local', '--clear-key', 'yes'], '--clear-key must be true or false.'],
    [
      ['--key-source', 'local', '--allow-private', '1.2.3.4/99'],
      '--allow-private must be true, false or comma-separated CIDR blocks',
    ],
    [['--key-source', 'local', '--settings', '/nowhere'], '--settings: /nowhere cannot be read (ENOENT).'],
  ])('create %j is wrong usage', async (flags, text) => {
    const { status, stdout, stderr } = await kinora('drm', 'create', '--name', 'x', ...flags);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain(text);
    expect(stderr).not.toContain(KEY);
  });

  test('delete refuses what playback ids use', async () => {
    const id = await create('--key-source', 'local');
    const asset = await createAsset(server, { inputs: [{ url: `${files.url}/0` }], video_quality: 'plus' });
    const path = `/video/v1/assets/${asset.id}/playback-ids`;
    const response = await api(server, 'POST', path, { policy: 'drm', drm_configuration_id: id });
    const { data } = (await response.json()) as { data: { id: string } };
    expect([response.status, data]).toEqual([201, { id: data.id, policy: 'drm', drm_configuration_id: id }]);
    const refused = await kinora('drm', 'delete', id);
    expect([refused.status, refused.stderr]).toEqual([
      1,
      `kinora: 1 playback IDs use the DRM configuration ${id}. Delete them first.\n`,
    ]);
    expect((await api(server, 'DELETE', `${path}/${data.id}`)).status).toBe(204);
    expect(await kinora('drm', 'delete', id)).toMatchObject({ status: 0, stdout: `${id} is deleted.\n` });
    expect((await kinora('drm', 'delete', id)).status).toBe(1);
    const late = await api(server, 'POST', path, { policy: 'drm', drm_configuration_id: id });
    expect(await late.json()).toMatchObject({
      error: { messages: ['drm_configuration_id does not refer to an existing DRM configuration'] },
    });
  });
});

test('an upload whose configuration has gone ends as errored', async () => {
  const id = await create('--key-source', 'local');
  const policies = [{ policy: 'drm', drm_configuration_id: id }];
  const body = {
    cors_origin: '*',
    new_asset_settings: { video_quality: 'plus', advanced_playback_policies: policies },
  };
  const { data } = (await (await api(server, 'POST', '/video/v1/uploads', body)).json()) as {
    data: { id: string; url: string };
  };
  expect((await kinora('drm', 'delete', id)).status).toBe(0);
  await fetch(data.url, { method: 'PUT', body: readFileSync(await fixture('h264-aac.mp4')) });
  const upload = (await (await api(server, 'GET', `/video/v1/uploads/${data.id}`)).json()) as { data: object };
  expect(upload.data).toMatchObject({ status: 'errored', error: { type: 'invalid_parameters' } });
});

test('keys are in the clear neither in the database nor in a backup nor in the log, and survive both', async () => {
  const given = await create('--key-source', 'static', '--key', `${KID}:${KEY}`);
  const local = await create('--key-source', 'local');
  const signing = await createSigningKey(server);
  const inputs = [{ url: `${files.url}/0` }];
  const licenseOf = async (url: string, playbackId: string): Promise<{ kid: string; k: string }[]> => {
    const master = await (
      await fetch(`${url}/${playbackId}.m3u8?token=${playbackToken(signing, playbackId, 'v')}`)
    ).text();
    const kids = [...master.matchAll(/KEYID=0x([0-9a-f]{32})/g)].map((match) =>
      Buffer.from(match[1]!, 'hex').toString('base64url'),
    );
    const address = `${url}/license/clearkey/${playbackId}?token=${playbackToken(signing, playbackId, 'd')}`;
    const response = await fetch(address, { method: 'POST', body: JSON.stringify({ kids }) });
    expect(response.status).toBe(200);
    return ((await response.json()) as { keys: { kid: string; k: string }[] }).keys;
  };
  const ids = [
    (await createDrmAsset(server, given, { inputs })).drmId,
    (await createDrmAsset(server, local, { inputs })).drmId,
  ];
  const licenses = await Promise.all(ids.map((id) => licenseOf(server.url, id)));
  const keys = licenses.flat().map(({ k }) => Buffer.from(k, 'base64url'));
  expect(keys.map((key) => key.toString('hex'))).toContain(KEY);

  const backup = join(dataDir, '..', 'backup');
  expect((await kinora('backup', backup)).status).toBe(0);
  const log = server.logText();
  await server.stop();
  const forms = keys.flatMap((key) => [
    key,
    ...(['hex', 'base64', 'base64url'] as const).map((encoding) =>
      Buffer.from(key.toString(encoding).replace(/=+$/, '')),
    ),
  ]);
  for (const form of forms) expect(log.includes(form.toString('latin1'))).toBe(false);
  for (const directory of [dataDir, backup])
    for (const name of filesBelow(directory)) {
      const bytes = readFileSync(join(directory, name));
      expect([name, forms.some((form) => bytes.includes(form))]).toEqual([name, false]);
    }

  const restored = makeDataDir();
  expect((await runCli(['restore', backup], { KINORA_DATA_DIR: restored })).status).toBe(0);
  const again = await startServer({ dataDir: restored });
  expect(await Promise.all(ids.map((id) => licenseOf(again.url, id)))).toEqual(licenses);
  await again.stop();
});

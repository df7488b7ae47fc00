import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { runCli } from '../../support/processes/run-cli.js';
import type { Origin } from '../../support/servers/origin.js';
import { cleanUpServers, makeDataDir, type ServerProcess, startServer } from '../../support/servers/server-process.js';
import { api, createAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { sendBytes, type WireUpload } from '../../support/wire/uploading.js';

let origin: Origin;
let server: ServerProcess;
let path: string;
const dataDir = makeDataDir();

beforeAll(async () => {
  path = await fixture('h264-aac.mp4');
  origin = await serveFiles([path]);
  server = await startServer({ dataDir, options: { DEFAULT_VIDEO_QUALITY: 'plus' } });
});
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
});

const create = (settings: object = {}): Promise<WireAsset> =>
  createAsset(server, { inputs: [{ url: `${origin.url}/0` }], ...settings });
/** The asset that an upload makes. */
const upload = async (settings: object): Promise<WireAsset> => {
  const read = async <T>(method: string, address: string, body?: object): Promise<T> =>
    ((await (await api(server, method, address, body)).json()) as { data: T }).data;
  const { id, url } = await read<WireUpload>('POST', '/video/v1/uploads', { new_asset_settings: settings });
  expect((await sendBytes(url!, await readFile(path))).status).toBe(200);
  const { asset_id: assetId } = await read<WireUpload>('GET', `/video/v1/uploads/${id}`);
  return read<WireAsset>('GET', `/video/v1/assets/${assetId}`);
};
const kinora = async (...args: string[]): Promise<string> => {
  const { status, stdout, stderr } = await runCli(args, { KINORA_DATA_DIR: dataDir });
  expect(status, stderr).toBe(0);
  return stdout;
};
const PLUS = { video_quality: 'plus', encoding_tier: 'smart' };
const PREMIUM = { video_quality: 'premium', encoding_tier: 'premium' };

test('an asset without video_quality has that of its environment, however it is made', async () => {
  const asset = await create();
  expect(asset).toMatchObject(PLUS);
  expect(await upload({})).toMatchObject(PLUS);
  expect(await settled(server, asset.id)).toMatchObject({ status: 'ready', ...PLUS });
  expect(await createAsset(server, { inputs: [{ url: `mux://assets/${asset.id}`, end_time: 1 }] })).toMatchObject(PLUS);

  expect(await create({ video_quality: 'basic' })).toMatchObject({ video_quality: 'basic' });
  expect(await create({ encoding_tier: 'baseline' })).toMatchObject({ video_quality: 'basic' });
  expect(await upload({ video_quality: 'premium' })).toMatchObject(PREMIUM);
  // DRM needs more than basic: the default counts, so the only problem is the configuration.
  const response = await api(server, 'POST', '/video/v1/assets', {
    inputs: [{ url: origin.url }],
    advanced_playback_policies: [{ policy: 'drm', drm_configuration_id: 'x' }],
  });
  expect(await response.json()).toMatchObject({
    error: { messages: [expect.stringContaining('drm_configuration_id')] },
  });
});

test('the option counts on the first start, and the operator changes the default later', async () => {
  await server.stop();
  server = await startServer({ dataDir, options: { DEFAULT_VIDEO_QUALITY: 'basic' } });
  expect(await create()).toMatchObject(PLUS);
  await server.stop();

  const listed = await kinora('env', 'list');
  expect(listed).toMatch(/^ID +NAME +TYPE +VIDEO QUALITY +CREATED\n\w{6} +Default +production +plus +\d{4}-/);
  const id = listed.split('\n')[1]!.slice(0, 6);
  expect(await kinora('env', 'update', id, '--video-quality', 'premium')).toBe(
    `${id} now has the video quality premium.\n`,
  );
  const other = (await kinora('env', 'create', 'Staging', '--video-quality', 'plus')).trim();
  const unset = (await kinora('env', 'create', 'Other')).trim();
  const rows = await kinora('env', 'list');
  expect(rows).toMatch(new RegExp(`^${id} .* premium `, 'm'));
  expect(rows).toMatch(new RegExp(`^${other} .* plus `, 'm'));
  expect(rows).toMatch(new RegExp(`^${unset} .* basic `, 'm'));
  const unknown = await runCli(['env', 'update', 'nobody', '--video-quality', 'plus'], { KINORA_DATA_DIR: dataDir });
  expect(unknown).toMatchObject({ status: 1, stderr: expect.stringContaining('There is no environment nobody.') });

  server = await startServer({ dataDir });
  expect(await create()).toMatchObject(PREMIUM);
});

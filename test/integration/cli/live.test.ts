import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Publisher, publishForever } from '../../support/processes/publisher.js';
import { runCli, startCli } from '../../support/processes/run-cli.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { freePort } from '../../support/servers/free-port.js';
import { until } from '../../support/servers/server-process.js';
import { api } from '../../support/wire/create-asset.js';

let server: Booted;
let ingestUrl: string;
let publisher: Publisher | undefined;
beforeAll(async () => {
  const rtmpPort = await freePort();
  ingestUrl = `rtmp://127.0.0.1:${rtmpPort}/app`;
  server = await boot({ options: { RTMP_PORT: String(rtmpPort), LIVE_RUNGS: '0' } });
});
afterAll(async () => {
  publisher?.process.kill('SIGKILL');
  await server?.stop();
});

const env = () => ({
  KINORA_PUBLIC_URL: server.url,
  KINORA_TOKEN: `${server.token.id}:${server.token.secret}`,
});
const kinora = async (...args: string[]): Promise<string> => {
  const { status, stdout, stderr } = await runCli(['live', ...args], env());
  expect([status, stderr]).toEqual([0, '']);
  return stdout;
};
const fieldOf = (output: string, name: string): string | undefined =>
  new RegExp(`^${name} {2,}(.*)$`, 'm').exec(output)?.[1];

it('a live stream is created, watched while it is on air, completed, disabled, enabled and deleted', async () => {
  const made = await kinora('create', '--title', 'Harbor', '--latency', 'low', '--reconnect-window', '600');
  expect(fieldOf(made, 'server')).toBe(ingestUrl);
  const id = fieldOf(made, 'id')!;
  const key = fieldOf(made, 'stream key')!;
  expect(await kinora('show', id)).toBe(made);
  expect(made).toMatch(/^status +idle\n.*\nlatency +low\nreconnect window +600 s\n/ms);

  const watching = startCli(['live', 'watch', id], env());
  await until('it watches', () => watching.errors().includes('The live stream is idle. Press Ctrl-C to stop.'));
  publisher = await publishForever(`${ingestUrl}/${key}`);
  await until('it is live', () => watching.output().includes('video.live_stream.active'));
  const live = await kinora('show', id);
  expect(fieldOf(live, 'status')).toBe('live');
  const assetId = fieldOf(live, 'recorded as')!;
  await until('its recording is told', () => watching.output().includes(`video.asset.ready  ${assetId}`));
  expect(await kinora('list', '--status', 'active')).toMatch(new RegExp(`^${id} +live +\\S.* +low +Harbor$`, 'm'));
  expect(await kinora('list', '--status', 'disabled')).not.toContain(id);

  expect(await kinora('complete', id)).toBe(`The broadcast of ${id} has ended.\n`);
  expect(fieldOf(await kinora('show', id), 'latest recording')).toBe(assetId);
  const newKey = (await kinora('reset-key', id)).trim();
  expect(newKey).not.toBe(key);
  expect(JSON.parse(await kinora('show', id, '--json'))).toMatchObject({
    stream_key: newKey,
    ingest_urls: [ingestUrl],
  });
  expect(await kinora('disable', id)).toBe(`${id} is disabled.\n`);
  expect(fieldOf(await kinora('show', id), 'status')).toMatch(/^disabled/);
  expect(await kinora('enable', id)).toBe(`${id} is enabled.\n`);
  const target = { url: 'rtmps://live.example.com/app', stream_key: 'elsewhere' };
  const targets = `/video/v1/live-streams/${id}/simulcast-targets`;
  await until('the encoder has gone', async () => (await api(server, 'POST', targets, target)).status === 201);
  expect(fieldOf(await kinora('show', id), 'simulcast target 1')).toBe('rtmps://live.example.com/app (idle)');
  expect(await kinora('delete', id)).toBe(`${id} is deleted.\n`);
  expect(await watching.exited).toBe(0);
  expect(watching.output()).toMatch(/ {2}video\.live_stream\.deleted\n$/);
  for (const args of [
    ['show', id],
    ['enable', id],
    ['reset-key', '..'],
  ]) {
    const { status, stderr } = await runCli(['live', ...args], env());
    const sentence = `kinora: There is no live stream with the id "${args[1]}".`;
    expect([status, stderr]).toEqual([1, expect.stringContaining(sentence)]);
  }
});

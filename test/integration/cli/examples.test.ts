// The examples in the help of every command, run by a shell against one server. Only IDs, URLs and
// names of files are replaced.
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandGroups } from '#kinora/cli/commands.js';
import { LogTail } from '#kinora/telemetry/log-tail.js';
import { createLogger } from '#kinora/telemetry/logger.js';
import { fixture } from '../../support/media/fixtures.js';
import { shortLived } from '../../support/processes/node-flags.js';
import { cleanEnvironment, cliPath } from '../../support/processes/run-cli.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { makeTestDataDir } from '../../support/servers/database.js';
import { until } from '../../support/servers/server-process.js';
import { type Receiver, startReceiver } from '../../support/servers/webhook-receiver.js';
import { api, createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';

const cwd = mkdtempSync(join(tmpdir(), 'kinora-examples-'));
const commands = commandGroups.flatMap(({ members }) => Object.entries(members));
let server: Booted;
let receiver: Receiver;
let origin: Awaited<ReturnType<typeof serveFiles>>;
let assetId: string;
let playbackId: string;
let restoredDir: string;

const made = async (method: string, path: string, body?: unknown): Promise<Record<string, string>> =>
  ((await (await api(server, method, path, body)).json()) as { data: Record<string, string> }).data;

const kinora = async (line: string): Promise<string> => {
  const { status, stdout, stderr } = await run(`kinora ${line}`);
  expect(status, stderr).toBe(0);
  return stdout.trim();
};

const start = (line: string) => {
  const child = spawn('bash', ['-c', line], {
    cwd,
    // A group of its own, so that the test can end a pipeline.
    detached: true,
    env: {
      ...cleanEnvironment(),
      PATH: `${join(cwd, 'bin')}:${process.env.PATH}`,
      HOME: cwd,
      KINORA_DATA_DIR: server.dataDir,
      KINORA_PUBLIC_URL: server.url,
      KINORA_TOKEN: `${server.token.id}:${server.token.secret}`,
      KINORA_SAMPLE: 'false',
    },
  });
  const output = { stdout: '', stderr: '' };
  child.stdin.end();
  child.stdout.on('data', (chunk) => (output.stdout += chunk));
  child.stderr.on('data', (chunk) => (output.stderr += chunk));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  return { output, ended, stop: () => process.kill(-child.pid!, 'SIGTERM') };
};

const run = async (line: string) => {
  const { output, ended } = start(line);
  return { status: await ended, ...output };
};

beforeAll(async () => {
  receiver = await startReceiver();
  const logTail = new LogTail();
  const logger = createLogger('info', 'json', logTail.tee({ write: () => undefined }));
  server = await boot({ logger, logTail });
  const video = await fixture('video-only.mp4');
  origin = await serveFiles([video]);
  for (const folder of ['bin', 'videos', '.config/fish/completions']) mkdirSync(join(cwd, folder), { recursive: true });
  for (const name of ['holiday.mp4', 'intro.mp4', 'videos/a.mp4']) copyFileSync(video, join(cwd, name));
  writeFileSync(join(cwd, 'drm.json'), JSON.stringify({ name: 'From a file', 'key-source': 'local' }));
  const program = `#!/bin/sh\nexec '${process.execPath}' ${shortLived.join(' ')} '${cliPath}' "$@"\n`;
  writeFileSync(join(cwd, 'bin', 'kinora'), program, { mode: 0o755 });
  writeFileSync(join(cwd, 'bin', 'xdg-open'), '#!/bin/sh\n', { mode: 0o755 });
  restoredDir = await makeTestDataDir();
  const asset = await createAsset(server, {
    inputs: [{ url: `${origin.url}/0` }],
    playback_policies: ['public', 'signed'],
  });
  ({ id: assetId } = await settled(server, asset.id));
  playbackId = asset.playback_ids!.find(({ policy }) => policy === 'signed')!.id;
  await kinora('signing-key create --output key.json');
});
afterAll(async () => {
  await server?.stop();
  await receiver?.stop();
  await origin?.stop();
  for (const path of [cwd, restoredDir]) rmSync(path, { recursive: true, force: true });
});

/**
 * What stands in the place of IDs, URLs and files in the examples of a command; made again for each
 * example.
 */
const replacements: Readonly<Record<string, () => Promise<Readonly<Record<string, string>>>>> = {
  serve: async () => ({
    'kinora serve': `KINORA_PORT=0 KINORA_DATA_DIR='${restoredDir}' kinora serve`,
    '/var/lib/kinora': restoredDir,
    '--port 9000': '--port 0',
  }),
  // The embedded database of a running server is in use.
  migrate: async () => ({ 'kinora migrate': `KINORA_DATA_DIR='${restoredDir}' kinora migrate` }),
  'asset delete': async () => {
    const { id } = await createAsset(server, { inputs: [{ url: `${origin.url}/0` }] });
    return { uPSf3Kx9ePh5ZxzXPsdKK01ZFDgrCJKGqAbCdEfG: id };
  },
  'signing-key create': async () => ({ 'key.json': 'second-key.json' }),
  'signing-key delete': async () => ({
    b3Kx9ePh5ZxzXPsdKK01ZFDgrCJKGqAbCdEfGuPS: (await made('POST', '/system/v1/signing-keys')).id!,
  }),
  'budget create': async () => {
    const { data } = (await (await api(server, 'GET', '/video/v1/delivery-budgets')).json()) as {
      data: { id: string }[];
    };
    for (const { id } of data) await api(server, 'DELETE', `/video/v1/delivery-budgets/${id}`);
    return {};
  },
  'budget update': async () => ({ b7RwT2xMc6SbZ8vKq4YnH1mDgJ5eFuA3b7RwT2xM: await budget('1') }),
  'budget delete': async () => ({ b7RwT2xMc6SbZ8vKq4YnH1mDgJ5eFuA3b7RwT2xM: await budget('2') }),
  'upload cancel': async () => ({
    zd01Pe2bNpYhxbrwYABgFE01twZdtv4M00kts2i0: (await made('POST', '/video/v1/uploads', { new_asset_settings: {} })).id!,
  }),
  'token revoke': async () => ({
    '6f0a2a3e-3b0e-4a8c-9b1d-2d5a6c7e8f90': (await kinora('token create')).split(':')[0]!,
  }),
  'env update': async () => ({ k3x9ab: JSON.parse(await kinora('env list --json'))[0].id }),
};

/** Of an asset of its own, because an asset has one for each period. */
const budget = async (title: string): Promise<string> => {
  const { id } = await createAsset(server, { inputs: [{ url: `${origin.url}/0` }], meta: { title } });
  return (await made('POST', '/video/v1/delivery-budgets', { asset_id: id, period: 'day', bytes: 1e12 })).id!;
};

const drm = async () => ({
  '1fVtnk9hBXbu4Ct7PQnKGO00VGzPsnSknAbCdEfG': await kinora('drm create --name x --key-source local'),
});
let webhooks = 0;
const webhook = async () => ({
  q7m2x9: (await made('POST', '/system/v1/webhooks', { address: `${receiver.url}/${webhooks++}` })).id!,
});

const liveStream = async () => ({
  gN5qTx8WbK1vJ6yHf0ZpR4uLdE2mC7aBgN5qTx8W: (await made('POST', '/video/v1/live-streams', {})).id!,
});

const replaced = async (words: string, line: string): Promise<string> => {
  const group = { drm, webhook, live: liveStream }[words.split(' ')[0]!];
  const own =
    replacements[words] ?? (group && /^live|show|delete|test|deliveries/.test(words) ? group : async () => ({}));
  const table = {
    'https://example.org/video.mp4': `${origin.url}/0`,
    'https://example.org/hooks/kinora': `${receiver.url}/created-${webhooks++}`,
    'http://localhost:3000/webhooks': `${receiver.url}/listening`,
    uPSf3Kx9ePh5ZxzXPsdKK01ZFDgrCJKGqAbCdEfG: assetId,
    '4nN01ZFDgrCJKGquPSf3Kx9ePh5ZxzXPsdKKAbCd': playbackId,
    ...(await own()),
  };
  return Object.entries(table).reduce((text, [from, to]) => text.replaceAll(from, to), line);
};

/** They run until they are stopped; this output shows that they work. */
const endless: Readonly<Record<string, RegExp>> = {
  serve: /Kinora is running/,
  'live watch': /The live stream is idle/,
  'webhook listen': /Signing secret: \w{32}\n/,
  // The time of a line: the start of the server may no longer be among the latest lines.
  'logs --follow': /\d\d:\d\d:\d\d/,
};
/**
 * They need the public internet or a second server; speech.test.ts and the tests of the import run
 * these commands.
 */
const offline = ['speech install', 'import mux', 'import signing-key'];

const examples = commands.flatMap(([words, { examples: lines }]) => lines.map((line) => ({ words, line })));

describe('the examples of', () => {
  it.each(examples.filter(({ words }) => !offline.includes(words)))('$words: $line', async ({ words, line }) => {
    const text = await replaced(words, line);
    const sign = endless[words] ?? endless[line.replace(/^kinora /, '')];
    if (!sign) {
      const { status, stdout, stderr } = await run(text);
      expect(status, `${text}\n${stdout}${stderr}`).toBe(0);
      if (line.endsWith('--json'))
        for (const part of words === 'logs' ? stdout.trim().split('\n') : [stdout]) JSON.parse(part);
      return;
    }
    const running = start(text);
    await until(line, () => sign.test(`${running.output.stdout}${running.output.stderr}`));
    running.stop();
    await running.ended;
  });

  it('every command exist', () => {
    expect(commands.filter(([, { examples: lines }]) => lines.length === 0).map(([words]) => words)).toEqual([]);
    for (const { words, line } of examples) expect(line, words).toContain(`kinora ${words}`);
  });
});

describe('--json', () => {
  const lists = commands.filter(
    ([, { flags, examples: lines }]) => flags && '--json' in flags && !lines.some((line) => line.includes('--json')),
  );
  it.each(lists.map(([words, { examples: lines }]) => ({ words, line: lines[0]! })))(
    'of $words',
    async ({ words, line }) => {
      const { status, stdout, stderr } = await run(`${await replaced(words, line)} --json`);
      expect(status, stderr).toBe(0);
      expect(JSON.parse(stdout)).toBeTypeOf('object');
    },
  );

  it('is a flag of every command that prints data', () => {
    const without = commands.filter(([, { flags }]) => !flags || !('--json' in flags)).map(([words]) => words);
    // The first prints for people, the others one sentence, a script or, without a file, JSON in
    // any case.
    expect(without).toEqual([
      'serve',
      'speech install',
      'speech remove',
      'backup',
      'restore',
      'signing-key create',
      'signing-key delete',
      'budget delete',
      'import signing-key',
      'webhook delete',
      'token revoke',
      'env update',
      'drm delete',
      'completion',
    ]);
  });
});

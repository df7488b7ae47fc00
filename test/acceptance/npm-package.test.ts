import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { unoptimizedWasmBelow } from '../support/processes/node-flags.js';
import { cleanEnvironment } from '../support/processes/run-cli.js';
import { until } from '../support/servers/server-process.js';

const directory = mkdtempSync(join(tmpdir(), 'kinora-package-'));
const packed = join(directory, 'source');
const empty = join(directory, 'empty');
const run = promisify(execFile);
/** The registry may need certificates that the other tests leave out. */
const certificates = process.env.NPM_CA_CERTS;
const npm = (cwd: string, ...args: string[]) =>
  run('npm', args, { cwd, env: { ...cleanEnvironment(), ...(certificates && { NODE_EXTRA_CA_CERTS: certificates }) } });

let tarball: string;
let server: ReturnType<typeof spawn> | undefined;

/**
 * The build of this run, packed as `npm pack` does, but without a second build: other tests run
 * from `dist`.
 */
beforeAll(async () => {
  mkdirSync(packed);
  mkdirSync(empty);
  for (const name of ['package.json', 'README.md', 'LICENSE', 'NOTICE', 'CHANGELOG.md', 'deploy', 'scripts', 'dist'])
    cpSync(name, join(packed, name), { recursive: true });
  await run(process.execPath, ['scripts/published-package.mjs'], { cwd: packed });
  const { stdout } = await npm(packed, 'pack', '--ignore-scripts', '--json');
  tarball = join(packed, JSON.parse(stdout)[0].filename);
});
afterAll(async () => {
  // The whole group: npx starts a shell, which starts the server.
  if (server?.exitCode === null) process.kill(-server.pid!, 'SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

it('is what npm would publish', async () => {
  // It warns when it has to correct package.json.
  const { stdout, stderr } = await npm(packed, 'publish', tarball, '--dry-run', '--ignore-scripts');
  expect(stdout).toMatch(/^\+ kinora@\d+\.\d+\.\d+/m);
  expect(stderr).not.toContain('auto-corrected');
  for (const name of ['dist/cli/main.js', 'deploy/systemd/kinora.service', 'NOTICE', 'LICENSE'])
    expect(stderr).toContain(name);
  expect(stderr).not.toMatch(/\.d\.ts|\.map$|src\/|test\//m);
});

it('keeps package.json as it was', async () => {
  const before = readFileSync('package.json', 'utf8');
  await run(process.execPath, ['scripts/published-package.mjs', '--restore'], { cwd: packed });
  expect(readFileSync(join(packed, 'package.json'), 'utf8')).toBe(before);
});

it('starts in an empty directory with `npx kinora` and plays a video', async () => {
  await npm(
    empty,
    ...['install', tarball, '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'],
  );
  const { dependencies } = JSON.parse(readFileSync(join(empty, 'node_modules/kinora/package.json'), 'utf8'));
  expect(dependencies).toHaveProperty('fastify');
  // Builds need it; the package is built.
  expect(existsSync(join(empty, 'node_modules/typescript'))).toBe(false);

  const env = { ...cleanEnvironment(), ...unoptimizedWasmBelow, KINORA_PORT: '0' };
  server = spawn('npx', ['kinora'], { cwd: empty, env, detached: true });
  let output = '';
  server.stdout!.on('data', (chunk) => (output += chunk));
  server.stderr!.on('data', (chunk) => (output += chunk));
  const page = () => /A sample video plays at +(\S+)/.exec(output)?.[1];
  await until('the sample video plays', () => {
    if (server!.exitCode !== null) throw new Error(output);
    return page();
  });

  await until('the sample is stored', async () => (await fetch(`${page()}.m3u8`)).status === 200);
  const lines = async (url: string) => {
    const response = await fetch(url);
    expect(response.status).toBe(200);
    return (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  };
  const multivariant = `${page()}.m3u8`;
  const [media] = await lines(multivariant);
  const mediaUrl = new URL(media!, multivariant);
  const [segment] = await lines(mediaUrl.href);
  const video = await fetch(new URL(segment!, mediaUrl));
  expect(video.status).toBe(200);
  expect(Buffer.from(await video.arrayBuffer()).includes('moof')).toBe(true);
  const pageResponse = await fetch(page()!, { headers: { accept: 'text/html' } });
  expect(await pageResponse.text()).toContain('<html');

  // The server ends with its npx and releases its data directory.
  server.kill('SIGTERM');
  await once(server, 'exit');
  await until('the server has ended', () => !existsSync(join(empty, 'kinora-data/control.sock')));
});

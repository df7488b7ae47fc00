import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { unoptimizedWasmBelow } from '../../support/processes/node-flags.js';
import { cleanEnvironment, oldNode, runCli } from '../../support/processes/run-cli.js';
import { makeTestDataDir } from '../../support/servers/database.js';
import { processesNaming, until } from '../../support/servers/server-process.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const clone = mkdtempSync(join(tmpdir(), 'kinora-clone-'));
let dataDir = '';

/**
 * The repository as a clone has it after `npm ci --omit=dev`: no development package, nothing
 * compiled.
 */
const makeProductionInstall = (): void => {
  const sources = ['scripts', 'src', 'console', 'player'];
  for (const name of ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.src.json', ...sources])
    cpSync(join(root, name), join(clone, name), { recursive: true });
  const { packages } = JSON.parse(readFileSync(join(root, 'node_modules/.package-lock.json'), 'utf8'));
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  for (const path of Object.keys(packages)) {
    const isNested = path.lastIndexOf('node_modules/') > 0;
    if (isNested || wanted[path] === undefined || wanted[path].dev === true) continue;
    mkdirSync(dirname(join(clone, path)), { recursive: true });
    symlinkSync(join(root, path), join(clone, path));
  }
};

beforeAll(async () => {
  makeProductionInstall();
  dataDir = await makeTestDataDir();
});
const running = new Set<number>();
afterAll(() => {
  for (const pid of running) process.kill(-pid, 'SIGKILL');
  rmSync(clone, { recursive: true, force: true });
  rmSync(dataDir, { recursive: true, force: true });
});

/** Without what a run of these tests by npm has set. */
const environment = () => ({
  ...Object.fromEntries(Object.entries(cleanEnvironment()).filter(([name]) => !/^npm_/i.test(name))),
  ...unoptimizedWasmBelow,
  NODE_ENV: 'production',
  KINORA_DATA_DIR: dataDir,
  KINORA_SAMPLE: 'false',
});

const startNpm = () => {
  const npm = spawn('npm', ['start', '--script-shell=sh', '--', '--port', '0'], {
    cwd: clone,
    env: environment(),
    detached: true,
  });
  running.add(npm.pid!);
  let output = '';
  let errors = '';
  npm.stdout.on('data', (chunk) => (output += chunk));
  npm.stderr.on('data', (chunk) => (errors += chunk));
  const exited = once(npm, 'exit').then(() => running.delete(npm.pid!));
  return { npm, exited, output: () => output, errors: () => errors };
};

const npmStart = async () => {
  const started = startNpm();
  const { exited, output, errors } = started;
  await Promise.race([
    until('the server is up', () => /Address +(\S+)/.test(output()), 200_000),
    exited.then(() => Promise.reject(new Error(`npm start ended: ${output()}${errors()}`))),
  ]);
  return { ...started, url: /Address +(\S+)/.exec(output())![1]! };
};

const isGone = async (url: string): Promise<boolean> =>
  (await fetch(`${url}/healthz`).then(
    () => false,
    () => true,
  )) && processesNaming(dataDir).length === 0;

/** `npm start` that ends by itself. */
const failingNpmStart = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  spawnSync('npm', ['start', '--script-shell=sh', ...args], {
    cwd: clone,
    env: { ...environment(), ...env },
    encoding: 'utf8',
  });

it('refuses an old Node.js in one sentence, before it builds', () => {
  const { status, stderr } = failingNpmStart([], oldNode);
  expect(stderr).not.toContain('Building Kinora');
  expect(stderr).toContain('kinora: Node.js 20.19 or newer is required; this is 18.20.8.\n');
  expect(status).toBe(1);
});

it('builds without development packages, once, and ends with npm', async () => {
  const first = await npmStart();
  expect(first.errors()).toContain('Building Kinora');
  expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
  const second = await runCli(['serve'], { KINORA_DATA_DIR: dataDir, KINORA_PORT: '0' });
  const [, holder] = /process ID (\d+)/.exec(second.stderr) ?? [];
  expect(readFileSync(`/proc/${holder}/cmdline`, 'utf8')).toContain('scripts/start.mjs');
  first.npm.kill('SIGTERM');
  await first.exited;
  expect(await isGone(first.url)).toBe(true);

  // An npm that is killed by force passes no signal on.
  const again = await npmStart();
  expect(again.errors()).not.toContain('Building Kinora');
  again.npm.kill('SIGKILL');
  await again.exited;
  await until('the server is gone too', () => isGone(again.url));

  const third = await npmStart();
  third.npm.kill('SIGINT');
  await third.exited;
  expect(await isGone(third.url)).toBe(true);
});

it('runs the same command line with `npx kinora`', () => {
  const npx = (...args: string[]) => execFileSync('npx', args, { cwd: clone, env: environment(), encoding: 'utf8' });
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect(npx('kinora', '--version').trim()).toBe(version);
});

it('says that npm took a flag that has no -- before it', () => {
  const { status, stderr } = failingNpmStart(['--allow-private-sources', '10.0.0.0/8']);
  expect(stderr).toContain(
    'kinora: npm did not pass --allow-private-sources to Kinora. Add -- before the flags: npm start -- --allow-private-sources ...\n',
  );
  expect(status).toBe(2);
});

it('packs what runs, without sources and maps', () => {
  const listed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    env: environment(),
    stdio: ['ignore', 'pipe', 'ignore'],
    encoding: 'utf8',
  });
  const paths = JSON.parse(listed)[0]
    .files.map(({ path }: { path: string }) => path)
    // `bin` of a clone, which a skipped script leaves out of the package.
    .filter((path: string) => path !== 'scripts/start.mjs') as string[];
  expect(paths).toEqual(
    expect.arrayContaining([
      'dist/cli/main.js',
      'dist/bundle/entries.json',
      'dist/db/migrations/0001_initial.sql',
      'LICENSE',
    ]),
  );
  expect(
    paths.filter(
      (path) =>
        !/^(dist\/.*\.(c?js|sql|html|css|svg|onnx|LICENSE)|dist\/bundle\/entries\.json|dist\/.*\/licenses\.md|deploy\/.*|(CHANGELOG|README)\.md|LICENSE|NOTICE|package\.json)$/.test(
          path,
        ),
    ),
  ).toEqual([]);
});

it('builds again after a source changes, and ends when it is interrupted', async () => {
  const builtAt = statSync(join(clone, 'dist/.built')).mtimeMs;
  const later = new Date(builtAt + 2000);
  utimesSync(join(clone, 'src/http/ops/welcome.ts'), later, later);
  const { npm, exited, errors } = startNpm();
  // What the whole build makes is known from the first one.
  await until(
    'it says so and compiles',
    () => errors().includes('Building Kinora') && processesNaming(join(clone, 'tsconfig.src.json')).length > 0,
  );
  // As a terminal does: to everything that npm has started.
  process.kill(-npm.pid!, 'SIGINT');
  await exited;
  await until('the build is gone too', () => processesNaming(clone).length === 0);
  expect(statSync(join(clone, 'dist/.built')).mtimeMs).toBe(builtAt);
});

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { cleanUpServers, makeDataDir, type ServerProcess, startServer } from '../support/servers/server-process.js';
import { api, createAsset, serveFiles, settled, type WireAsset } from '../support/wire/create-asset.js';

/** What CONTRIBUTING.md promises under "Add a field to an endpoint". */
const MOST_FILES = { 'read-only-field': 5, 'writable-field': 7 };
type Patch = keyof typeof MOST_FILES;

const root = fileURLToPath(new URL('../../', import.meta.url));
const patchOf = (name: Patch) => fileURLToPath(new URL(`${name}.patch`, import.meta.url));

const run = async (cwd: string, program: string, ...args: string[]): Promise<void> => {
  const child = execFile(program, args, { cwd });
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (text) => (output += text));
  const [status] = await once(child, 'close');
  if (status !== 0) throw new Error(output);
};

const applyPatch = async (copy: string, name: Patch): Promise<void> => {
  await run(copy, 'git', 'apply', '-C1', patchOf(name)).catch((cause: Error) => {
    const message = `test/drift/${name}.patch no longer applies: refresh the patch, and CONTRIBUTING.md if it is wrong now`;
    throw new Error(`${message}\n${cause.message}`);
  });
};

let copy: string;
let server: ServerProcess;
let origin: Awaited<ReturnType<typeof serveFiles>>;

/**
 * A server with both fields: a copy of the sources is patched, compiled with types, and started.
 */
beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'kinora-fields-'));
  for (const name of ['src', 'test', 'package.json', 'tsconfig.json', 'tsconfig.src.json'])
    await cp(join(root, name), join(copy, name), { recursive: true });
  // Media processes run from the bundle as it is: the patches don't change them.
  await cp(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  for (const name of Object.keys(MOST_FILES) as Patch[]) await applyPatch(copy, name);
  const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  // Nearly every file depends on the schema of the database, so all are checked, and a record of
  // the last build would be of no use. Nobody reads declarations and maps.
  const flags = ['composite', 'incremental', 'declaration', 'sourceMap'].flatMap((name) => [`--${name}`, 'false']);
  await run(copy, process.execPath, compiler, '-p', 'tsconfig.src.json', '--preserveSymlinks', ...flags);
  await cp(join(copy, 'src/db/migrations'), join(copy, 'dist/db/migrations'), { recursive: true });
  const program = join(copy, 'serve.mjs');
  const lines = [
    "const { runCommandLine } = await import('./dist/cli/run.js');",
    'process.exit(await runCommandLine(process.argv.slice(2)));',
  ];
  await writeFile(program, lines.join('\n'));
  origin = await serveFiles([await fixture('h264-aac.mp4')]);
  server = await startServer({ dataDir: makeDataDir(), program });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await cleanUpServers();
  await rm(copy, { recursive: true, force: true });
});

it.each(Object.entries(MOST_FILES) as [Patch, number][])('a %s needs at most %i files', async (name, most) => {
  const files = (await readFile(patchOf(name), 'utf8')).match(/^diff --git /gm);
  expect(files?.length).toBeLessThanOrEqual(most);
});

it('both fields are in responses, lists and events', async () => {
  const body = { inputs: `${origin.url}/0`, series: 'Nature', playback_policies: ['public'] };
  const created = await createAsset(server, body);
  expect(created).toMatchObject({ series: 'Nature' });
  expect(created).not.toHaveProperty('container_format');
  const fields = { series: 'Nature', container_format: expect.stringContaining('mp4') };
  expect(await settled(server, created.id)).toMatchObject({ status: 'ready', ...fields });
  expect(await dataOf('/video/v1/assets')).toMatchObject([fields]);
  const [event] = await dataOf('/system/v1/events?type=video.asset.ready');
  expect(event).toMatchObject({ data: fields });

  const patch = async (series: string) => {
    const response = await api(server, 'PATCH', `/video/v1/assets/${created.id}`, { series });
    return ((await response.json()) as { data: WireAsset }).data;
  };
  expect(await patch('Cities')).toMatchObject({ series: 'Cities' });
  expect(await patch('')).not.toHaveProperty('series');
  const refused = await api(server, 'PATCH', `/video/v1/assets/${created.id}`, { series: 'x'.repeat(101) });
  expect(await refused.json()).toMatchObject({ error: { messages: ['series must be at most 100 characters'] } });
});

const dataOf = async (path: string): Promise<Record<string, unknown>[]> =>
  ((await (await api(server, 'GET', path)).json()) as { data: Record<string, unknown>[] }).data;

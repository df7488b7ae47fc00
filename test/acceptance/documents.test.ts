import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { writePng } from '../support/media/png.js';
import { unoptimizedWasmBelow } from '../support/processes/node-flags.js';
import { cleanEnvironment } from '../support/processes/run-cli.js';
import { freePort } from '../support/servers/free-port.js';
import { until } from '../support/servers/server-process.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'kinora-documents-'));
const clone = join(directory, 'kinora');
const home = join(directory, 'home');
/** Files of the examples on the internet, by their path. */
const files = new Map<string, Buffer>();

let internet: Server;
let port: number;

/**
 * What git would clone, with the packages and the build of this run. npm-start.test.ts lets
 * `npm start` build.
 */
const makeClone = (): void => {
  const tracked = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  for (const name of tracked.toString().split('\0')) {
    if (name === '' || !existsSync(join(root, name))) continue;
    mkdirSync(dirname(join(clone, name)), { recursive: true });
    cpSync(join(root, name), join(clone, name));
  }
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  // After the sources, so that it is newer than they are.
  cpSync(join(root, 'dist'), join(clone, 'dist'), { recursive: true });
  writeFileSync(join(clone, 'dist/.built'), '');
};

beforeAll(async () => {
  const video = readFileSync(await fixture('h264-aac.mp4'));
  files.set('/leds.mp4', video);
  files.set('/talk.mov', readFileSync(await fixture('h264-index-at-end.mov')));
  files.set('/film.mkv', readFileSync(await fixture('h264-mp3.mkv')));
  files.set('/talk.es.m4a', readFileSync(await fixture('audio-only.m4a')));
  files.set('/talk.fr.vtt', Buffer.from('WEBVTT\n\n00:00.000 --> 00:02.000\nBonjour\n'));
  files.set(
    '/logo.png',
    writePng(64, 64, () => [255, 255, 255, 255]),
  );
  internet = createServer(({ url }, response) => {
    const bytes = files.get(url ?? '');
    response.writeHead(bytes ? 200 : 404).end(bytes);
  }).listen(0, '127.0.0.1');
  await once(internet, 'listening');
  port = await freePort();

  makeClone();
  mkdirSync(home);
  // Without it, curl ends with 0 whatever the server responds.
  writeFileSync(join(home, '.curlrc'), 'fail-with-body\nsilent\nshow-error\n');
  writeFileSync(join(clone, '.env'), `KINORA_PORT=${port}\nKINORA_ALLOW_PRIVATE_SOURCES=127.0.0.0/8\n`);
  mkdirSync(join(clone, 'videos'));
  for (const path of [join(home, 'holiday.mov'), join(clone, 'holiday.mov'), join(clone, 'videos/holiday.mov')])
    writeFileSync(path, video);
});

const started: ChildProcess[] = [];
const endAll = async (): Promise<void> => {
  for (const child of started.splice(0)) {
    const exited = child.exitCode === null ? once(child, 'exit') : undefined;
    // The whole group: the shell has started npm, which has started the server.
    if (exited) process.kill(-child.pid!, 'SIGTERM');
    await exited;
  }
};
afterEach(endAll);
afterAll(() => {
  internet?.close();
  rmSync(directory, { recursive: true, force: true });
});

const environment = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(cleanEnvironment()).filter(([name]) => !/^npm_/i.test(name))),
  ...unoptimizedWasmBelow,
  HOME: home,
  npm_config_cache: join(directory, 'npm'),
});

/** A command or a program of a document, with the addresses of this run. */
const localized = (text: string): string => {
  const local = text
    .replaceAll(/https:\/\/(?:muxed\.s3\.amazonaws|example)\.com(\/[\w.-]+)/g, (address, path: string) => {
      expect([...files.keys()], address).toContain(path);
      return `http://127.0.0.1:${(internet.address() as AddressInfo).port}${path}`;
    })
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`);
  expect(local.match(/https?:\/\/(?!127\.0\.0\.1:|localhost:)\S+/g)).toBeNull();
  return local;
};

const start = (command: string) => {
  const child = spawn('bash', ['-ec', `exec ${command}`], { cwd: clone, env: environment(), detached: true });
  started.push(child);
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  const isPrinted = (pattern: RegExp) =>
    until(`${command} prints ${pattern}`, () => {
      if (child.exitCode !== null) throw new Error(`${command} ended: ${output}`);
      return pattern.test(output);
    });
  return { isPrinted, output: () => output };
};

/** Runs a command to its end and returns what it printed. */
const run = async (command: string): Promise<string> => {
  const child = spawn('bash', ['-eo', 'pipefail', '-c', command], { cwd: clone, env: environment() });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (errors += chunk));
  const [status] = await once(child, 'close');
  expect({ command, status, errors: status === 0 ? '' : errors + output }).toEqual({ command, status: 0, errors: '' });
  return output;
};

const blocksOf = (path: string, language: string): string[] =>
  [...readFileSync(join(root, path), 'utf8').matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter((block) => block[1] === language)
    .map((block) => block[2]!);

const commandsOf = (path: string): string[] =>
  blocksOf(path, 'sh').flatMap((block) => block.replaceAll('\\\n', ' ').trim().split('\n'));

/**
 * There is no Docker here: files that it is told to read exist, and what it runs in the container
 * runs in the clone.
 */
const checkDocker = async (command: string): Promise<void> => {
  const [, file] = / -f (\S+) /.exec(command) ?? [];
  if (file !== undefined) expect(existsSync(join(clone, file)), command).toBe(true);
  const [, inContainer] = /^docker exec \S+ (kinora .*)/.exec(command) ?? [];
  if (inContainer !== undefined) await run(`npx ${inContainer}`);
};

/** Runs every command of a document in order. Returns what each has printed. */
const follow = async (path: string): Promise<Map<string, string>> => {
  rmSync(join(clone, 'kinora-data'), { recursive: true, force: true });
  const printed = new Map<string, string>();
  for (const command of commandsOf(path)) {
    if (command.startsWith('docker ')) await checkDocker(command);
    // The packages are there. It still says when package.json and its lock file differ.
    else if (command === 'npm ci') await run('npm ci --dry-run --offline --ignore-scripts');
    else if (command === 'npm start') {
      const server = start(command);
      await server.isPrinted(/A sample video plays at/);
      printed.set(command, server.output());
    } else if (/ webhook listen /.test(command)) await start(command).isPrinted(/localhost:3000/);
    else printed.set(command.replace(/ *#.*/, ''), await run(localized(command)));
  }
  return printed;
};

const get = (url: string) => fetch(url, { headers: { accept: 'text/html' } });
const loads = async (url: string, type: string): Promise<void> => {
  // A program prints the URL of an asset that is still preparing.
  await until(`${url} plays`, async () => (await get(url)).status !== 412);
  const response = await get(url);
  expect({ url, status: response.status }).toEqual({ url, status: 200 });
  expect(response.headers.get('content-type')).toContain(type);
};
const urlIn = (output: string | undefined): string => /https?:\/\/\S+/.exec(output ?? '')![0];

const runProgram = (...parts: string[]): Promise<string> => {
  writeFileSync(join(clone, 'example.mjs'), localized(parts.join('\n')));
  return run('node example.mjs');
};

it('README.md: every command works in a clone', async () => {
  const printed = await follow('README.md');
  const [welcome] = blocksOf('README.md', '');
  for (const [line] of welcome!.matchAll(/^ {2}\w.*? (?= )|^\w.*? (?= |$)/gm))
    expect(printed.get('npm start')).toContain(line.trim());
  await loads(urlIn(printed.get('npx kinora asset create ~/holiday.mov')), 'text/html');
  expect(printed.get('npx kinora console')).toContain('/console/login#');
  const [program] = blocksOf('README.md', 'js');
  await loads(urlIn(await runProgram(program!)), 'text/html');
});

it('docs/tutorial.md: every command works in a clone, and the page shows the video', async () => {
  const printed = await follow('docs/tutorial.md');
  const video = urlIn(printed.get('npx kinora asset create ~/holiday.mov'));
  await loads(`${video}/thumbnail.jpg?time=2`, 'image/jpeg');
  await loads(`${video}.m3u8`, 'mpegurl');
  expect(printed.get('npx kinora asset list')).toContain('holiday');
  const [page] = blocksOf('docs/tutorial.md', 'html');
  const sources = [...localized(page!).matchAll(/src="(.+?)"/g)].map(([, url]) => url!);
  expect(sources).toHaveLength(2);
  const id = new URL(video).pathname.slice(1);
  await loads(sources[0]!.replace('PLAYBACK_ID', id), 'text/html');
  await loads(sources[1]!.replace('PLAYBACK_ID', id), 'image/webp');
});

it('docs/assets.md: every command and every program works', async () => {
  // On what the tests before have left: another first start would make a database and a sample.
  await start('npm start').isPrinted(/Address +\S+/);
  // A program can be appended to the first one.
  await runProgram(...blocksOf('docs/assets.md', 'js'));
  for (const command of commandsOf('docs/assets.md')) {
    if (/ webhook listen /.test(command)) await start(command).isPrinted(/localhost:3000/);
    else await run(localized(command));
  }
});

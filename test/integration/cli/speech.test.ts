import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { systemClock } from '#kinora/lib/clock.js';
import { SourceClient } from '#kinora/net/source-client.js';
import { installModel, listModels, removeModel } from '#kinora/speech/install-model.js';
import { writeWhisperModel } from '../../support/media/whisper-model.mjs';
import { memoryLogger } from '../../support/memory-logger.js';
import { runCli } from '../../support/processes/run-cli.js';
import { startOrigin } from '../../support/servers/origin.js';
import { filesBelow } from '../../support/servers/server-process.js';

const directory = mkdtempSync(join(tmpdir(), 'kinora-models-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const dataDir = join(directory, 'data');

const bytes = Buffer.alloc(6_000_000, 'weights ');
const sha256 = createHash('sha256').update(bytes).digest('hex');
const fetcher = new SourceClient({
  allowPrivate: true,
  maxBytes: 2 ** 30,
  userAgent: 'test',
  clock: systemClock,
  logger: memoryLogger(),
  retryDelayMs: 1,
});
const options = { dataDir, fetcher, onProgress: () => undefined };

test('an interrupted download of a model goes on where it ended, and is only used when it is the right one', async () => {
  const asked: (string | undefined)[] = [];
  let whole = false;
  const origin = await startOrigin((request, response) => {
    asked.push(request.headers.range);
    const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
    response.writeHead(start > 0 ? 206 : 200, {
      'content-length': bytes.length - start,
      etag: '"v1"',
      ...(start > 0 && { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
    });
    if (whole) response.end(bytes.subarray(start));
    else response.write(bytes.subarray(start, start + 600_000), () => response.socket?.end());
  });
  try {
    const model = { name: 'tiny', url: `${origin.url}/0`, sizeBytes: bytes.length, sha256, note: '' };
    await expect(installModel(model, options)).rejects.toThrow('could not be downloaded');
    const before = asked.length;
    whole = true;
    const path = await installModel(model, options);
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(Number(/^bytes=(\d+)-$/.exec(asked[before] ?? '')?.[1])).toBeGreaterThan(0);
    expect(filesBelow(join(dataDir, 'models'))).toEqual(['ggml-tiny.bin']);
    expect((await listModels(dataDir)).map(({ name, installed }) => [name, installed])).toContainEqual(['tiny', true]);
    await installModel(model, options);
    expect(asked.length).toBe(before + 1);

    expect(await removeModel(dataDir, model)).toBe(true);
    const other = { ...model, sha256: 'f'.repeat(64) };
    await expect(installModel(other, options)).rejects.toThrow('is not the model tiny');
    expect(filesBelow(join(dataDir, 'models'))).toEqual([]);
  } finally {
    await origin.stop();
  }
});

test('a model may come from a file', async () => {
  const file = join(directory, 'model');
  writeFileSync(file, bytes);
  const model = { name: 'base', url: 'http://nowhere.invalid/', sizeBytes: bytes.length, sha256, note: '' };
  expect(readFileSync(await installModel(model, { ...options, from: file })).equals(bytes)).toBe(true);
  await removeModel(dataDir, model);
  await expect(installModel(model, { ...options, from: join(directory, 'absent') })).rejects.toThrow('cannot be read');
});

test('the commands list, refuse and remove models', async () => {
  const args = ['--data-dir', dataDir];
  const list = await runCli(['speech', 'list', '--speech-model', 'small', ...args]);
  expect(list.stdout).toMatch(/^MODEL +SIZE +INSTALLED +USED +NOTE\ntiny +78 MB +no +no /);
  expect(list.stdout).toMatch(/\nsmall +488 MB +no +yes /);
  const wrong = await runCli(['speech', 'install', 'tiny', '--from', join(directory, 'model'), ...args]);
  expect([wrong.status, wrong.stderr]).toEqual([1, expect.stringContaining('is not the model tiny')]);
  const unknown = await runCli(['speech', 'install', 'huge', ...args]);
  expect([unknown.status, unknown.stderr]).toEqual([2, expect.stringContaining('There is no model "huge"')]);
  expect((await runCli(['speech', 'remove', 'tiny', ...args])).stdout).toBe('tiny was not installed.\n');
});

test('doctor says what recognizes speech', async () => {
  const lineOf = async (...flags: string[]) =>
    /^.*Speech recognition.*$/m.exec(
      (await runCli(['doctor', '--data-dir', dataDir, '--port', '0', ...flags])).stdout,
    )?.[0];
  expect(await lineOf()).toMatch(/^ok +Speech recognition: none/);
  expect(await lineOf('--speech-url', 'http://127.0.0.1:9/v1')).toMatch(
    /^ok .* the service at http:\/\/127.0.0.1:9\/v1$/,
  );
  expect(await lineOf('--speech-command', 'cat {audio}')).toMatch(/^ok .* the program cat$/);
  expect(await lineOf('--speech-command', 'no-such-program {audio}')).toMatch(
    /^fail .* the program no-such-program, which does not exist/,
  );
  expect(await lineOf('--speech-model', 'base')).toMatch(/^fail .*ggml-base\.bin, which is not a readable model/);
  const model = join(directory, 'plumbing.bin');
  writeWhisperModel(model);
  expect(await lineOf('--speech-model', model)).toMatch(/^ok .*plumbing\.bin \(0\.0 GiB, many languages\)$/);
  const both = await runCli(['doctor', '--speech-model', model, '--speech-command', 'x {audio}']);
  expect([both.status, both.stderr]).toEqual([2, expect.stringContaining('cannot be combined')]);
});

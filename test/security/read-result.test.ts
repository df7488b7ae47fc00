import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readResult, streamResult } from '#kinora/pool/read-result.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kinora-result-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const readers = {
  readResult: (path: string) => readResult(path, 100),
  streamResult: async (path: string) => buffer(await streamResult(path)),
};

describe.each(Object.entries(readers))('%s', (_, read) => {
  const path = () => join(dir, 'out');

  it('reads a plain file', async () => {
    writeFileSync(path(), 'film');
    expect(String(await read(path()))).toBe('film');
    writeFileSync(path(), '');
    expect(String(await read(path()))).toBe('');
  });

  const tricks: Record<string, () => void> = {
    'a link to another file': () => {
      writeFileSync(join(dir, 'secret'), 'secret');
      symlinkSync(join(dir, 'secret'), path());
    },
    'a link to an endless device': () => symlinkSync('/dev/zero', path()),
    'a pipe': () => execFileSync('mkfifo', [path()]),
    'a directory': () => mkdirSync(path()),
    nothing: () => undefined,
  };
  it.each(Object.entries(tricks))('refuses %s', async (_name, play) => {
    play();
    await expect(read(path())).rejects.toMatchObject({ code: 'media_failed', details: { reason: 'no plain file' } });
  });
});

it('refuses a file that is larger than what can be meant', async () => {
  writeFileSync(join(dir, 'out'), 'x'.repeat(101));
  await expect(readResult(join(dir, 'out'), 100)).rejects.toMatchObject({ code: 'media_failed' });
});

it('does not follow a file that goes on growing', async () => {
  const path = join(dir, 'out');
  writeFileSync(path, 'x'.repeat(3 * 2 ** 20));
  let received = 0;
  for await (const chunk of await streamResult(path)) {
    received += (chunk as Buffer).length;
    appendFileSync(path, 'x'.repeat(2 ** 20));
  }
  expect(received).toBe(3 * 2 ** 20);
});

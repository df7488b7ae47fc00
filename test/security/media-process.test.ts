import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { mediaPriority } from '#kinora/pool/media-pool.js';
import { availableLevels, startHostilePool } from '../support/processes/hostile-pool.js';

const levels = await availableLevels();

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});
const start = async (...options: Parameters<typeof startHostilePool>) => {
  const started = await startHostilePool(...options);
  cleanUps.push(started.stop);
  return started;
};

const MIB = 2 ** 20;
const limit = (text: unknown, name: string): string =>
  new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(String(text))?.[1] ?? 'absent';

describe('a media process taken over by its file', () => {
  it('finds nothing of the server in its environment', async () => {
    process.env.KINORA_TEST_SECRET = 'secret';
    cleanUps.push(() => delete process.env.KINORA_TEST_SECRET);
    for (const level of levels) {
      const { run } = await start({ levels: [level] });
      const { names } = await run('environment');
      expect((names as string[]).filter((name) => !['PWD', 'SVT_LOG'].includes(name))).toEqual([]);
    }
  });

  for (const level of ['bwrap', 'unshare'] as const) {
    it.skipIf(!levels.has(level))(`reaches no network (${level})`, async () => {
      let reached = 0;
      const server = createServer((_request, response) => {
        reached += 1;
        response.end();
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      cleanUps.push(() => server.close());
      const { run } = await start({ levels: [level] });
      expect(await run(`connect:${(server.address() as AddressInfo).port}`)).toMatchObject({ connected: false });
      expect(reached).toBe(0);
    });
  }

  it.skipIf(!levels.has('bwrap'))(
    'sees sources, which it can not change, and its own scratch directory, and nothing else',
    async () => {
      const { run, root, readDir, writeDir } = await start({ levels: ['bwrap'] });
      writeFileSync(join(readDir, 'a'), 'film');
      mkdirSync(join(root, 'database'));
      writeFileSync(join(root, 'database', 'secret'), 'secret');
      expect(await run(`read:${join(readDir, 'a')}`)).toEqual({ text: 'film' });
      expect(await run(`write:${join(readDir, 'a')}`)).toEqual({ reason: 'EROFS' });
      expect(await run(`write:${join(writeDir, 'b')}`)).toEqual({ written: true });
      expect(existsSync(join(writeDir, 'b'))).toBe(true);
      for (const path of [
        join(root, 'database', 'secret'),
        '/etc/passwd',
        '/etc/shadow',
        '/root/.ssh',
        '/home',
        '/var',
      ]) {
        expect(await run(`read:${path}`), path).toEqual({ reason: 'ENOENT' });
      }
      expect(await run('read:/proc/1/environ')).toEqual({ text: 'SVT_LOG=1\0' });
    },
  );

  it.skipIf(!levels.has('bwrap'))('sees a model of speech recognition, not what lies beside it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kinora-models-'));
    cleanUps.push(() => rmSync(folder, { recursive: true, force: true }));
    const model = join(folder, 'ggml-tiny.bin');
    const { run } = await start({ levels: ['bwrap'], readFiles: [model] });
    // A process sees what is there when it starts, so a model that is installed later needs no
    // restart of the server.
    expect(await run(`read:${model}`)).toEqual({ reason: 'ENOENT' });
    writeFileSync(join(folder, 'store.bin'), 'weights');
    symlinkSync(join(folder, 'store.bin'), model);
    writeFileSync(join(folder, 'token'), 'secret');
    const speech = { priority: mediaPriority.speech };
    expect(await run(`read:${model}`, speech)).toEqual({ text: 'weights' });
    expect(await run(`write:${model}`, speech)).toEqual({ reason: 'EROFS' });
    for (const name of ['token', 'store.bin'])
      expect(await run(`read:${join(folder, name)}`, speech), name).toEqual({ reason: 'ENOENT' });
  });

  for (const level of ['unshare', 'setpriv', 'none'] as const) {
    it.skipIf(!levels.has(level))(`can read and change files, and the description says so (${level})`, async () => {
      const { pool, run, root } = await start({ levels: [level] });
      const file = join(root, 'secret');
      writeFileSync(file, 'secret');
      expect(await run(`read:${file}`)).toEqual({ text: 'secret' });
      expect(await run(`write:${file}`)).toEqual({ written: true });
      expect(pool.sandbox).toMatch(/every file.* read and change/);
    });
  }

  for (const level of ['bwrap', 'unshare', 'setpriv'] as const) {
    it.skipIf(!levels.has(level))(`has ceilings and no privilege (${level})`, async () => {
      const { run } = await start({ levels: [level] });
      const { text, status } = await run('limits');
      expect(limit(text, 'Max data size')).toBe(String(512 * MIB));
      expect(limit(text, 'Max core file size')).toBe('0');
      expect(limit(text, 'Max open files')).toBe('256');
      expect(limit(text, 'Max cpu time')).toBe(String(7 * 24 * 3600));
      expect(limit(text, 'Max file size')).not.toBe('unlimited');
      expect(limit(status, 'NoNewPrivs:')).toBe('1');
      for (const set of ['CapInh:', 'CapPrm:', 'CapEff:', 'CapAmb:'])
        expect(limit(status, set)).toBe('0000000000000000');
    });
  }

  it('cannot take more memory than its ceiling', async () => {
    const { run } = await start({ memoryBytes: 300 * MIB });
    const before = await run('hello');
    await expect(run('memory')).rejects.toMatchObject({ code: 'media_failed', failure: 'defect' });
    expect(await run('hello')).toMatchObject({ nice: before.nice });
  });

  it('is killed at its deadline, twice, while others are served', async () => {
    const { run, logger } = await start();
    const hanging = run('hang', { deadlineMs: 400, priority: mediaPriority.warmUp });
    const failed = expect(hanging).rejects.toMatchObject({
      code: 'media_crashed',
      failure: 'defect',
      details: { kind: 'probe', reason: 'deadline of 400 ms passed' },
    });
    for (let i = 0; i < 5; i += 1) await run('hello');
    await failed;
    expect(logger.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields.second_try)).toEqual([
      false,
      true,
    ]);
    await run('hello', { priority: mediaPriority.warmUp });
  });

  it('is killed when it sends what is no message', async () => {
    const { run } = await start();
    for (const text of ['garbage', 'null', '{"type"', '{"type"="done"}', '[]', 'endless']) {
      await expect(run(`nonsense:${text}`), text).rejects.toMatchObject({
        code: 'media_crashed',
        details: { reason: 'it sent what is no message' },
      });
      await run('hello');
    }
  });

  it('can report no progress but 0 to 1 and no result but an object', async () => {
    const { run } = await start();
    // Takes the process that has already answered the job that shows that the sandbox works: later
    // ones begin at ID 1.
    await run('hello');
    for (const [sent, seen] of [
      ['1e308', 1],
      ['1e999', 1],
      ['-7', 0],
    ] as const) {
      const fractions: number[] = [];
      const message = `{"type":"progress","id":1,"fraction":${sent}}`;
      await run(`say:${message}`, { fresh: true, onProgress: (fraction) => fractions.push(fraction) });
      expect(fractions, sent).toEqual([0.5, seen]);
    }
    for (const result of ['[]', 'null', '7', '"x"']) {
      const message = `{"type":"done","id":1,"result":${result},"rssBytes":1}`;
      await expect(run(`say:${message}`, { fresh: true }), result).rejects.toMatchObject({
        code: 'media_crashed',
        details: { reason: 'it sent what is no message' },
      });
    }
  });

  it('can not hold up the server by a process that keeps its channel open', async () => {
    const { pool, run } = await start({ levels: ['none'] });
    const { pid } = await run('leave');
    cleanUps.push(() => process.kill(pid as number, 'SIGKILL'));
    await pool.stop();
    // It is still there; nobody waited for it.
    process.kill(pid as number, 0);
  });

  it('takes nothing down when it crashes, and is tried once more in a process of its own', async () => {
    const { run, writeDir } = await start();
    for (const way of ['crash', 'exit']) {
      const others = [run('hello'), run('spin:100')];
      await expect(run(way)).rejects.toMatchObject({ code: 'media_crashed' });
      await Promise.all(others);
    }
    expect(await run(`once:${join(writeDir, 'tried')}`)).toEqual({ secondTry: true });
  });
});

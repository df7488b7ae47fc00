import { execFile, spawn } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { type MediaPriority, mediaPriority } from '#kinora/pool/media-pool.js';
import { sandboxLevels } from '#kinora/pool/sandbox.js';
import { availableLevels, order, startHostilePool } from '../../support/processes/hostile-pool.js';

const levels = await availableLevels();

type Pool = Awaited<ReturnType<typeof startHostilePool>>;
let current: Pool | undefined;
const start = async (...options: Parameters<typeof startHostilePool>): Promise<Pool> => {
  current = await startHostilePool(...options);
  return current;
};
afterEach(async () => {
  await current?.stop();
  current = undefined;
});

interface Seen {
  pid: number;
  parent: number;
  /** `R`, `S`, `T` … */
  state: string;
  group: number;
  command: string;
}
/** Living processes as /proc shows them. */
const processes = (): Seen[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const [state = '', parent, group] = readFileSync(`/proc/${name}/stat`, 'utf8')
          .replace(/^.*\) /s, '')
          .split(' ');
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8');
        return state === 'Z'
          ? []
          : [{ pid: Number(name), parent: Number(parent), state, group: Number(group), command }];
      } catch {
        // It ended while we looked.
        return [];
      }
    });

/**
 * Those whose command has the text and all that they started: a sandboxed process does not carry
 * the sandbox's arguments.
 */
const processesWith = (text: string): Seen[] => {
  const seen = processes();
  const found = new Set(seen.filter(({ command }) => command.includes(text)));
  for (const { pid } of found) for (const child of seen) if (child.parent === pid) found.add(child);
  return [...found];
};

const until = async (condition: () => boolean, limitMs = 120_000): Promise<void> => {
  const end = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error('the condition did not come true');
    await sleep(10);
  }
};

/** Jobs that go on until the test ends them. */
const startJobs = ({ run, readDir }: Pool, count: number, priority: MediaPriority) => {
  const path = join(readDir, `end-${priority}`);
  let begun = 0;
  const onProgress = (): void => {
    begun += 1;
  };
  const jobs = Array.from({ length: count }, () => run(`wait:${path}`, { priority, onProgress }));
  return { jobs, begun: () => begun, end: () => writeFileSync(path, '') };
};

describe('media pool', () => {
  it('keeps a process warm and uses it again', async () => {
    const { run } = await start();
    const first = await run('hello');
    expect((await run('hello')).pid).toBe(first.pid);
  });

  it('gives a fresh job a process that no other job sees', async () => {
    // Without a process namespace, so that process ids tell processes apart.
    const { run } = await start({ levels: ['none'] });
    const before = await run('hello');
    const fresh = await run('hello', { fresh: true });
    const after = await run('hello');
    expect(fresh.pid).not.toBe(before.pid);
    expect(after.pid).not.toBe(fresh.pid);
  });

  it('keeps the process of a fresh job for the next one on the same file', async () => {
    const { run, writeDir } = await start({ levels: ['none'] });
    const missing = `missing:${join(writeDir, 'tried')}`;
    await expect(run(missing, { fresh: true })).rejects.toMatchObject({ code: 'range_missing' });
    const other = await run('hello', { fresh: true, isContinued: true });
    const second = await run(missing, { fresh: true });
    expect(second.pid).toBe(second.before);
    expect(second.pid).not.toBe(other.pid);
    expect((await run('hello')).pid).not.toBe(other.pid);
    expect((await run('hello', { fresh: true })).pid).toBe(other.pid);
    expect((await run('hello', { fresh: true })).pid).not.toBe(other.pid);
  });

  it('has a process ready for a fresh job, and others for the jobs after it', async () => {
    const { pool, run } = await start({ size: 2, levels: ['none'] });
    const waiting = (): Set<number> =>
      new Set(processes().flatMap(({ pid, parent }) => (parent === process.pid ? [pid] : [])));
    const before = await run('hello');
    pool.prepare();
    const prepared = waiting();
    pool.prepare();
    expect(waiting()).toEqual(prepared);
    const fresh = await run('hello', { fresh: true });
    const after = await run('hello');
    expect(prepared).toContain(fresh.pid);
    expect(fresh.pid).not.toBe(before.pid);
    // The fresh job has not displaced the process that has worked before.
    expect(after.pid).toBe(before.pid);
  });

  it('starts one process per ingest: its probe is done by a fresh one, everything else by those that wait', async () => {
    const { pool, run } = await start({ size: 2, levels: ['none'] });
    const ingest = async () => {
      pool.prepare();
      const fresh = await run('hello', { fresh: true, priority: mediaPriority.warmUp });
      const segments = [1, 2].map(() => run('spin:100', { priority: mediaPriority.warmUp }));
      const poster = await run('hello', { priority: mediaPriority.background });
      return { fresh: fresh.pid, others: [...(await Promise.all(segments)), poster].map(({ pid }) => pid) } as const;
    };
    const first = await ingest();
    const known = new Set(first.others);
    const probes = new Set([first.fresh]);
    for (let count = 0; count < 4; count += 1) {
      const { fresh, others } = await ingest();
      expect(others.filter((pid) => !known.has(pid))).toEqual([]);
      probes.add(fresh);
    }
    expect(probes.size).toBe(5);
    // Two for viewers, one for background work, one for the next probe.
    await until(() => processes().filter(({ parent }) => parent === process.pid).length <= 4);
  });

  it('replaces the process of a probe before the next ingest begins', async () => {
    const { pool, run } = await start({ size: 2, levels: ['none'] });
    const waiting = (): number[] => processes().flatMap(({ pid, parent }) => (parent === process.pid ? [pid] : []));
    pool.prepare();
    const probe = await run('hello', { fresh: true });
    // Both processes that wait for what follows a probe are used.
    await Promise.all([1, 2].map(() => run('spin:100')));
    const others = new Set([probe.pid, ...waiting()]);
    await until(() => waiting().some((pid) => !others.has(pid)));
    const prepared = waiting();
    pool.prepare();
    expect(waiting()).toEqual(prepared);
    const next = await run('hello', { fresh: true });
    expect(others).not.toContain(next.pid);
    expect(prepared).toContain(next.pid);
  });

  it('runs background work at a lower priority of the system', async () => {
    const { run } = await start();
    expect((await run('hello', { priority: mediaPriority.background })).nice).toBe(10);
    expect((await run('hello')).nice).toBe(0);
  });

  it('reports progress while the process is busy', async () => {
    const { run } = await start();
    const abort = new AbortController();
    const seen: number[] = [];
    // It hangs for minutes, so what is heard of it is heard while it works.
    const hanging = run('hang', {
      signal: abort.signal,
      onProgress: (fraction) => {
        seen.push(fraction);
        abort.abort();
      },
    });
    await expect(hanging).rejects.toMatchObject({ code: 'cancelled' });
    expect(seen).toEqual([0.5]);
  });

  it('keeps a place for a viewer while background work goes on', async () => {
    const pool = await start();
    const background = startJobs(pool, 3, mediaPriority.background);
    await until(() => background.begun() > 0);
    for (let count = 0; count < 2; count += 1) await pool.run('hello');
    expect(background.begun()).toBe(1);
    background.end();
    await Promise.all(background.jobs);
  });

  it.each([1, 2])('starts the work of ingests while viewers want more than %i places all the time', async (size) => {
    const { run } = await start({ size });
    let viewers = 0;
    let isOver = false;
    const watch = async (): Promise<void> => {
      while (!isOver) {
        viewers += 1;
        await run('spin:30');
      }
    };
    const watching = Array.from({ length: 2 * size }, watch);
    try {
      for (const priority of [mediaPriority.background, mediaPriority.warmUp, mediaPriority.background]) {
        const before = viewers;
        const done = run('hello', { priority }).then(() => 'done');
        await Promise.race([done, until(() => viewers > before + 400)]);
        expect(await Promise.race([done, sleep(0, 'waits')])).toBe('done');
      }
    } finally {
      isOver = true;
      await Promise.all(watching);
    }
  });

  it('pauses what a player will want for a viewer when there is one place, and finishes both', async () => {
    const pool = await start({ size: 1 });
    const wanted = startJobs(pool, 1, mediaPriority.nextSegment);
    await until(() => wanted.begun() === 1);
    const viewer = startJobs(pool, 1, mediaPriority.viewer);
    await until(() => viewer.begun() === 1);
    await until(() => processesWith(pool.root).some(({ state }) => state === 'T'));
    // It does not see this before it goes on.
    wanted.end();
    const job = wanted.jobs[0]!.then(() => 'wanted');
    expect(await Promise.race([job, sleep(100, 'paused')])).toBe('paused');
    viewer.end();
    await Promise.all([...viewer.jobs, job]);
  });

  it('refuses a viewer at once when 64 wait for each place, and nobody else', async () => {
    const { run } = await start({ size: 1 });
    const busy = run('spin:500');
    const waiting = Array.from({ length: 64 }, () => run('hello'));
    await expect(run('hello')).rejects.toMatchObject({ code: 'unavailable', status: 503 });
    const background = run('hello', { priority: mediaPriority.background });
    await Promise.all([busy, ...waiting, background]);
    await run('hello');
  });

  it('lets a promoted job overtake', async () => {
    const { pool, run } = await start({ size: 1 });
    const busy = run('spin:300');
    const ended: string[] = [];
    const first = run('hello', { priority: mediaPriority.readAhead }).then(() => ended.push('first'));
    const job = order('hello');
    const second = pool.run(job, { priority: mediaPriority.nextSegment }).then(() => ended.push('second'));
    pool.promote(job, mediaPriority.viewer);
    await Promise.all([busy, first, second]);
    expect(ended).toEqual(['second', 'first']);
  });

  it('ends the wait at once and the process with it when a job is cancelled', async () => {
    const { run, root } = await start({ size: 1 });
    const abort = new AbortController();
    const hanging = run('hang', { signal: abort.signal });
    const queued = run('hang', { signal: abort.signal });
    await until(() => processesWith(root).some(({ state }) => state === 'R'));
    abort.abort();
    // A process ends later than the next turn of the event loop.
    const turn = new Promise((resolve) => setImmediate(() => resolve('later')));
    for (const job of [hanging, queued]) {
      expect(await Promise.race([job.catch((error) => error.code), turn])).toBe('cancelled');
    }
    await run('hello');
    await until(() => processesWith(root).every(({ state }) => state !== 'R'));
    await expect(run('hello', { signal: abort.signal })).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('replaces a process after so many jobs, on growth and after a defect, not after a clean refusal', async () => {
    const { run } = await start({ levels: ['none'], jobsPerProcess: 4, memoryBytes: 400 * 2 ** 20 });
    const pid = async (): Promise<unknown> => (await run('hello')).pid;
    const first = await pid();
    await expect(run('refuse')).rejects.toMatchObject({ code: 'media_failed', failure: 'fail' });
    await expect(run('invalid')).rejects.toMatchObject({
      code: 'invalid_input',
      messages: ['The input file is not a valid video file.'],
    });
    expect(await pid()).toBe(first);
    const second = await pid();
    expect(second).not.toBe(first);
    await expect(run('defect')).rejects.toMatchObject({ code: 'media_failed', failure: 'defect' });
    const third = await pid();
    expect(third).not.toBe(second);
    await run(`grow:${250 * 2 ** 20}`);
    expect(await pid()).not.toBe(third);
  });

  it('keeps the process that a viewer has used while background work takes another', async () => {
    const pool = await start({ levels: ['none'] });
    const { pid: used } = await pool.run('hello');
    const background = startJobs(pool, 1, mediaPriority.background);
    await until(() => background.begun() === 1);
    expect((await pool.run('hello')).pid).toBe(used);
    background.end();
    expect((await background.jobs[0]!).pid).not.toBe(used);
  });

  it('leaves nothing behind when it stops', async () => {
    const { pool, run, root } = await start();
    let begun = 0;
    const onProgress = (): void => {
      begun += 1;
    };
    const waits = [1, 2, 3].map(() => run('hang', { onProgress }));
    await until(() => begun === 2);
    const settled = Promise.allSettled(waits);
    await pool.stop();
    expect(processesWith(root)).toEqual([]);
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    await expect(run('hello')).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('says so when no process can be started', async () => {
    const entryUrl = new URL('./does-not-exist.mjs', import.meta.url);
    await expect(startHostilePool({ entryUrl })).rejects.toMatchObject({ code: 'unavailable' });
  });

  for (const level of sandboxLevels) {
    it.skipIf(!levels.has(level))(`works in the sandbox level ${level} and dies with its server`, async () => {
      const script = new URL('../../support/processes/pool-victim.mjs', import.meta.url).pathname;
      const victim = spawn(process.execPath, [script, level], { stdio: ['ignore', 'pipe', 'inherit'] });
      const root = await new Promise<string>((resolve) =>
        victim.stdout.once('data', (data) => resolve(String(data).trim())),
      );
      expect(root).not.toBe('unavailable');
      const children = (await promisify(execFile)('pgrep', ['-P', String(victim.pid)])).stdout
        .trim()
        .split('\n')
        .map(Number);
      const left = (): Seen[] => processes().filter(({ group }) => children.includes(group));
      expect(left().length).toBeGreaterThan(level === 'bwrap' || level === 'unshare' ? 1 : 0);
      victim.kill('SIGKILL');
      await until(() => left().length === 0);
      rmSync(root, { recursive: true });
    });
  }
});

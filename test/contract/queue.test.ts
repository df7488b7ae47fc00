import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, expect, it, vi } from 'vitest';
import type { Database } from '#kinora/db/database.js';
import { claimJob, reapJobs } from '#kinora/db/tables/server/job.js';
import { listJobs } from '#kinora/db/tables/server/list-jobs.js';
import { CANCELLED, LEASE_LOST, SHUTDOWN } from '#kinora/lib/abort.js';
import { systemClock } from '#kinora/lib/clock.js';
import { KinoraError } from '#kinora/lib/errors.js';
import { newShortId } from '#kinora/lib/ids.js';
import { createQueue } from '#kinora/queue/job-queue.js';
import type { Job, JobContext, QueueWorker } from '#kinora/queue/queue.js';
import { Runner } from '#kinora/queue/runner.js';
import { quietLogger } from '../support/logger.js';
import { until } from '../support/servers/server-process.js';
import { statementsOf } from '../support/statements.js';
import { describeOnBothEngines } from './engines.js';

const WAIT = { timeout: 120_000 };
const runners: Runner[] = [];
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.stop(1000)));
  vi.useRealTimers();
});

interface TestRunner {
  handler: (job: Job<never>, context: JobContext) => Promise<void>;
  onFailed?: QueueWorker['onFailed'];
  concurrency?: number;
  leaseMs?: number;
  /** How far the runner's clock is ahead, so that delayed jobs are due. */
  aheadMs?: number;
}

const startRunner = async (database: Database, queue: string, test: TestRunner): Promise<Runner> => {
  const runner = new Runner({
    database,
    workers: [
      {
        queue: { name: queue },
        concurrency: test.concurrency ?? 1,
        handler: test.handler,
        ...(test.onFailed && { onFailed: test.onFailed }),
      },
    ],
    logger: quietLogger,
    clock: { ...systemClock, now: () => new Date(Date.now() + (test.aheadMs ?? 0)) },
    workerId: newShortId(),
    ...(test.leaseMs && { leaseMs: test.leaseMs }),
  });
  runners.push(runner);
  await runner.start();
  return runner;
};

/** No timer of a runner fires: what it does, it does because it was told. */
const withoutPolling = (): void => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
};

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const end = () => reject(new Error('aborted'));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });

describeOnBothEngines('queue', (database) => {
  const jobs = (queue: string) =>
    database()
      .queryable.selectFrom('job')
      .select(['state', 'attempt', 'error', 'failing', 'payload'])
      .where('queue', '=', queue)
      .orderBy('seq')
      .execute();

  it('runs by priority, then in order', async () => {
    const queue = createQueue(database());
    const ran: unknown[] = [];
    await queue.enqueue({ name: 'order' }, 'b1');
    await queue.enqueue({ name: 'order' }, 'b2');
    await queue.enqueue({ name: 'order' }, 'a', { priority: 5 });
    await queue.enqueue({ name: 'order' }, 'later', { runAt: new Date(Date.now() + 60_000) });
    const runner = await startRunner(database(), 'order', { handler: async (job) => void ran.push(job.payload) });
    await runner.drain();
    expect(ran).toEqual(['a', 'b1', 'b2']);
    expect((await jobs('order')).map(({ state }) => state)).toEqual(['done', 'done', 'done', 'queued']);
  });

  it('looks with one statement whether any of its queues has a due job', async () => {
    const handler = async (): Promise<void> => undefined;
    const workers = Array.from({ length: 20 }, (_, n) => ({ queue: { name: `idle-${n}` }, concurrency: 1, handler }));
    const runner = new Runner({
      ...{ database: database(), workers, logger: quietLogger, clock: systemClock, workerId: newShortId() },
    });
    const statements = await statementsOf(() => runner.drain());
    expect(statements.filter((text) => text.includes('from job'))).toHaveLength(2);
    expect(statements).toHaveLength(2);
  });

  it('starts a job at once when its transaction commits, and never one that was rolled back', async () => {
    const queue = createQueue(database());
    const started: unknown[] = [];
    withoutPolling();
    await startRunner(database(), 'commit', { handler: async ({ payload }) => void started.push(payload) });
    await database()
      .transaction(async (tx) => {
        await queue.enqueue({ name: 'commit' }, 'undone', {}, tx);
        throw new Error('no');
      })
      .catch(() => undefined);
    await database().transaction(async (tx) => {
      await queue.enqueue({ name: 'commit' }, 'kept', {}, tx);
      await sql`select pg_sleep(0.2)`.execute(tx);
      expect(started).toEqual([]);
    });
    await until('the job runs', () => started.length > 0);
    expect(started).toEqual(['kept']);
    expect(await jobs('commit')).toHaveLength(1);
  });

  it('keeps one live job per key', async () => {
    const queue = createQueue(database());
    const ids = await Promise.all([1, 2, 3, 4].map((n) => queue.enqueue({ name: 'dedupe', keyOf: () => 'k' }, n)));
    expect(new Set(ids).size).toBe(1);
    const whileActive: string[] = [];
    const runner = await startRunner(database(), 'dedupe', {
      handler: async () =>
        void whileActive.push(await queue.enqueue({ name: 'dedupe', keyOf: () => 'k' }, 'while active')),
    });
    await runner.drain();
    expect(whileActive).toEqual([ids[0]]);
    expect(await queue.enqueue({ name: 'dedupe', keyOf: () => 'k' }, 'after')).not.toBe(ids[0]);
    await runner.drain();
    expect((await jobs('dedupe')).map(({ state }) => state)).toEqual(['done', 'done']);
  });

  it('cancels a queued job and an active one at once; its successor waits for its end', async () => {
    const queue = createQueue(database());
    withoutPolling();
    await queue.enqueue({ name: 'cancel', keyOf: () => 'queued' }, 1);
    await queue.cancel({ name: 'cancel' }, 'queued');
    expect(await jobs('cancel')).toMatchObject([{ state: 'cancelled' }]);

    await queue.enqueue({ name: 'cancel', keyOf: () => 'active' }, 2);
    let running = 0;
    let mostRunning = 0;
    const reasons: unknown[] = [];
    const onFailed = vi.fn(async () => {});
    const runner = await startRunner(database(), 'cancel', {
      concurrency: 2,
      onFailed,
      handler: async (job, { signal }) => {
        mostRunning = Math.max(mostRunning, ++running);
        if ((job.payload as number) === 2) {
          void queue
            .cancel({ name: 'cancel' }, 'active')
            .then(() => queue.enqueue({ name: 'cancel', keyOf: () => 'active' }, 3));
          await aborted(signal).catch(() => undefined);
          reasons.push(signal.reason);
          await delay(200);
          running--;
          throw new Error('stopped');
        }
        running--;
      },
    });
    await until('the successor waits', async () => (await jobs('cancel')).length === 3);
    await runner.drain();
    expect(reasons).toEqual([CANCELLED]);
    expect(mostRunning).toBe(1);
    expect((await jobs('cancel')).map(({ state }) => state)).toEqual(['cancelled', 'cancelled', 'done']);
    expect(onFailed).not.toHaveBeenCalled();
  });

  it('tries again what may pass and ends at once what cannot', async () => {
    const queue = createQueue(database());
    await queue.enqueue({ name: 'errors' }, 'retry', { maxAttempts: 2 });
    await queue.enqueue({ name: 'errors' }, 'defect', { maxAttempts: 2 });
    await queue.enqueue({ name: 'errors' }, 'fail', { maxAttempts: 3 });
    const tries: string[] = [];
    const failed: unknown[] = [];
    let aheadMs = 0;
    const runner = new Runner({
      database: database(),
      workers: [
        {
          queue: { name: 'errors' },
          concurrency: 1,
          handler: async (job: Job<string>) => {
            tries.push(`${job.payload}${job.attempt}`);
            if (job.payload === 'retry' && job.attempt % 3 === 0) throw Object.assign(new Error(), { code: '57P01' });
            if (job.payload === 'retry') throw new KinoraError('unavailable');
            if (job.payload === 'fail') throw new KinoraError('invalid_input', { messages: ['bad \0 file'] });
            throw new TypeError('oops');
          },
          onFailed: async (job: Job<string>, error) => void failed.push([job.payload, (error as Error).message]),
        } as QueueWorker,
      ],
      logger: quietLogger,
      clock: { ...systemClock, now: () => new Date(Date.now() + aheadMs) },
      workerId: newShortId(),
    });
    runners.push(runner);
    await runner.start();
    await runner.drain();
    expect(tries).toEqual(['retry1', 'defect1', 'fail1']);
    aheadMs = 2_001;
    await runner.drain();
    for (let round = 0; round < 50; round++) {
      aheadMs += 5 * 60_000;
      await runner.drain();
    }
    expect(tries.filter((text) => !text.startsWith('retry'))).toEqual(['defect1', 'fail1', 'defect2']);
    expect(tries.filter((text) => text.startsWith('retry'))).toEqual(
      Array.from({ length: 40 }, (_, index) => `retry${index + 1}`),
    );
    expect(failed.sort()).toEqual([
      ['defect', 'oops'],
      ['fail', 'bad \0 file'],
      ['retry', new KinoraError('unavailable').message],
    ]);
    expect(await jobs('errors')).toMatchObject([
      { state: 'failed', error: { code: 'unavailable' } },
      { state: 'failed', error: { code: 'internal_error', detail: 'oops' } },
      { state: 'failed', error: { code: 'invalid_input', messages: ['bad  file'] } },
    ]);
  });

  it('hands a job back uncounted at a stop, also one that does not listen', async () => {
    const queue = createQueue(database());
    await queue.enqueue({ name: 'stop' }, 'polite');
    await queue.enqueue({ name: 'stop' }, 'deaf');
    const reasons: unknown[] = [];
    let wake = (): void => {};
    const runner = await startRunner(database(), 'stop', {
      concurrency: 2,
      handler: async (job, { signal }) => {
        if ((job.payload as string) === 'deaf') return new Promise((resolve) => (wake = resolve));
        await aborted(signal).catch(() => undefined);
        reasons.push(signal.reason);
        throw new Error('stopped');
      },
    });
    await vi.waitFor(async () => {
      expect((await jobs('stop')).map(({ state }) => state)).toEqual(['active', 'active']);
    }, WAIT);
    await runner.stop(300);
    const back = { state: 'queued', attempt: 0, failing: false };
    expect(await jobs('stop')).toMatchObject([back, back]);
    expect(reasons).toEqual([SHUTDOWN]);
    wake();
    await delay(100);
    expect(await jobs('stop')).toMatchObject([back, back]);
  });

  it('takes a job from a worker that was lost, and the late end of that worker does not count', async () => {
    const queue = createQueue(database());
    await queue.enqueue({ name: 'lease' }, 'x');
    const reasons: unknown[] = [];
    const ran: number[] = [];
    await startRunner(database(), 'lease', {
      leaseMs: 300,
      concurrency: 1,
      handler: async (job, { signal }) => {
        ran.push(job.attempt);
        if (job.attempt > 1) return;
        // As if this worker had been frozen for longer than its lease.
        await sql`update job set lease_until = now() - interval '1 second' where id = ${job.id}`.execute(
          database().queryable,
        );
        await sql`update job set state = 'queued', lease_id = null, lease_until = null where id = ${job.id}`.execute(
          database().queryable,
        );
        await aborted(signal).catch(() => undefined);
        reasons.push(signal.reason);
      },
    });
    await vi.waitFor(async () => expect((await jobs('lease'))[0]).toMatchObject({ state: 'done', attempt: 2 }), WAIT);
    expect(reasons).toEqual([LEASE_LOST]);
    expect(ran).toEqual([1, 2]);
  });

  it('does not count lost workers and missing room among the failures of a job', async () => {
    const queue = createQueue(database());
    const id = await queue.enqueue({ name: 'mixed' }, 'x', { maxAttempts: 2 });
    await sql`update job set attempt = 49, losses = 18, retries = 30 where id = ${id}`.execute(database().queryable);
    const onFailed = vi.fn(async () => {});
    await startRunner(database(), 'mixed', {
      leaseMs: 300,
      onFailed,
      handler: async (job) => {
        if (job.attempt === 50) throw new KinoraError('unavailable');
        if (job.attempt === 51) {
          await sql`update job set lease_until = now() - interval '1 second', lease_id = gen_random_uuid()
            where id = ${id}`.execute(database().queryable);
        }
        if (job.attempt === 52) throw new TypeError('oops');
      },
    });
    await vi.waitFor(async () => expect(await jobs('mixed')).toMatchObject([{ state: 'queued', attempt: 50 }]), WAIT);
    await sql`update job set run_at = now() where id = ${id}`.execute(database().queryable);
    await vi.waitFor(async () => expect(await jobs('mixed')).toMatchObject([{ state: 'failed', attempt: 52 }]), WAIT);
    expect(onFailed).toHaveBeenCalledTimes(1);
    const row = await database()
      .queryable.selectFrom('job')
      .select(['losses', 'retries'])
      .where('id', '=', id)
      .executeTakeFirst();
    expect(row).toEqual({ losses: 19, retries: 31 });
  });

  it('lists a job whose workers were killed without counting them among its attempts', async () => {
    const db = database().queryable;
    await createQueue(database()).enqueue({ name: 'killed' }, 'x');
    const lease = { worker: 'killed', leaseMs: -1000, now: new Date() };
    for (let killed = 0; killed < 6; killed += 1) {
      expect(await claimJob(db, 'killed', lease)).toBeDefined();
      await reapJobs(db, { code: 'internal_error', messages: [], detail: '' }, 20);
    }
    await claimJob(db, 'killed', { ...lease, leaseMs: 30_000 });
    const listed = await listJobs(db, { state: 'active', limit: 100 });
    expect(listed.find(({ queue }) => queue === 'killed')).toMatchObject({ attempt: 1, max_attempts: 5 });
    await sql`delete from job where queue = 'killed'`.execute(db);
  });

  it('does what belongs to a failure when the last worker was lost, and again until it succeeds', async () => {
    const queue = createQueue(database());
    const id = await queue.enqueue({ name: 'lost' }, 'x');
    await sql`update job set state = 'active', attempt = 20, losses = 19, worker = 'gone', lease_id = gen_random_uuid(),
      lease_until = now() - interval '1 second' where id = ${id}`.execute(database().queryable);
    const handler = vi.fn(async () => {});
    const errors: unknown[] = [];
    const test = {
      handler,
      leaseMs: 300,
      aheadMs: 0,
      onFailed: async (_: unknown, error: unknown) => {
        errors.push((error as KinoraError).code);
        if (errors.length === 1) throw new Error('not now');
      },
    };
    await startRunner(database(), 'lost', test);
    await vi.waitFor(async () => expect(errors).toHaveLength(1), WAIT);
    await vi.waitFor(
      async () => expect(await jobs('lost')).toMatchObject([{ state: 'queued', failing: true, attempt: 20 }]),
      WAIT,
    );
    const later = await startRunner(database(), 'lost', { ...test, aheadMs: 60_000 });
    await later.drain();
    expect(errors).toEqual(['internal_error', 'internal_error']);
    expect(handler).not.toHaveBeenCalled();
    expect(await jobs('lost')).toMatchObject([{ state: 'failed' }]);
  });

  it('keeps a job that takes many leases', async () => {
    const queue = createQueue(database());
    await queue.enqueue({ name: 'long' }, 'x');
    const renewed = new Set<number>();
    const test = {
      // Long enough that no other program on the machine keeps a runner from renewing in time.
      leaseMs: 1500,
      handler: async ({ id }: Job) => {
        await until('the lease was renewed', async () => {
          const { lease_until } = await database()
            .queryable.selectFrom('job')
            .select('lease_until')
            .where('id', '=', id)
            .executeTakeFirstOrThrow();
          return renewed.add(lease_until!.getTime()).size > 5;
        });
      },
    };
    const runner = await startRunner(database(), 'long', test);
    const other = await startRunner(database(), 'long', test);
    await Promise.all([runner.drain(), other.drain()]);
    expect(await jobs('long')).toMatchObject([{ state: 'done', attempt: 1 }]);
  });

  it('forgets finished jobs after a day', async () => {
    const queue = createQueue(database());
    await queue.enqueue({ name: 'old' }, 1);
    await queue.enqueue({ name: 'old' }, 2);
    const first = await startRunner(database(), 'old', { handler: async () => {} });
    await first.drain();
    await sql`update job set finished_at = finished_at - interval '25 hours' where queue = 'old' and payload = '1'`.execute(
      database().queryable,
    );
    await startRunner(database(), 'old', { handler: async () => {} });
    await vi.waitFor(async () => expect((await jobs('old')).map(({ payload }) => payload)).toEqual([2]), WAIT);
  });

  it('finds the job to cancel by its key, however many jobs have ended', async () => {
    await createQueue(database()).enqueue({ name: 'cancel by key', keyOf: () => 'k' }, 1);
    const read = await database().transaction(async (tx) => {
      await sql`set local enable_seqscan = off`.execute(tx);
      const scans = async () =>
        (
          await sql<{ count: number }>`
            select seq_scan::int as count from pg_stat_xact_user_tables where relname = 'job'`.execute(tx)
        ).rows[0]!.count;
      const before = await scans();
      await createQueue(database()).cancel({ name: 'cancel by key' }, 'k', tx);
      return (await scans()) - before;
    });
    expect(read).toBe(0);
    expect(await jobs('cancel by key')).toMatchObject([{ state: 'cancelled' }]);
  });
});

import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { migrate } from '#kinora/db/migrate.js';
import { openDatabase } from '#kinora/db/open-database.js';
import { createQueue } from '#kinora/queue/job-queue.js';
import { quietLogger } from '../../support/logger.js';
import { runScript } from '../../support/processes/child.js';
import { hasPostgres, startPostgres } from '../../support/servers/postgres.js';

const JOBS = 600;

const WORKER = `
  const { openDatabase } = await kinora('db/open-database.js');
  const { Runner } = await kinora('queue/runner.js');
  const { systemClock } = await kinora('lib/clock.js');
  const { newShortId } = await kinora('lib/ids.js');
  const { sql } = await import(${JSON.stringify(import.meta.resolve('kysely'))});
  const logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => logger };
  const database = await openDatabase({ url: process.argv[1], dataDir: '/nowhere', logger });
  const handler = async (job) => {
    await new Promise((resolve) => setTimeout(resolve, 5 + (job.payload % 7) * 5));
    await sql\`insert into handled (id, attempt) values (\${job.id}, \${job.attempt})\`.execute(database.queryable);
    console.log('handled');
  };
  const workers = [{ queue: { name: 'crash' }, concurrency: 4, handler }];
  await new Runner({ database, workers, logger, clock: systemClock, workerId: newShortId(), leaseMs: 600 }).start();`;

it.skipIf(!hasPostgres())('does every job although workers are killed, and ends none twice', async () => {
  const server = await startPostgres();
  const url = await server.createDatabase('kinora');
  const database = await openDatabase({ url, dataDir: '/nowhere', logger: quietLogger });
  const db = database.queryable;
  await migrate(database);
  await sql`create table handled (id uuid, attempt int)`.execute(db);
  await sql`create table ended (id uuid, attempt int)`.execute(db);
  await sql`create function note_end() returns trigger language plpgsql as
    $$ begin insert into ended values (new.id, new.attempt); return new; end $$`.execute(db);
  await sql`create trigger note_end after update on job for each row
    when (new.state = 'done') execute function note_end()`.execute(db);
  const queue = createQueue(database);
  for (let n = 0; n < JOBS; n++) await queue.enqueue({ name: 'crash' }, n, { maxAttempts: 20 });

  const start = () => runScript(WORKER, [url]);
  const workers = [start(), start(), start()];
  try {
    for (let kill = 0; kill < 6; kill++) {
      const victim = workers[kill % workers.length]!;
      while (victim.lines.length < 12) await victim.waitForLine('handled').then(() => new Promise(setImmediate));
      victim.process.kill('SIGKILL');
      await victim.closed;
      workers[kill % workers.length] = start();
    }
    const count = async (state: string) =>
      (await sql<{ n: number }>`select count(*) as n from job where state = ${state}`.execute(db)).rows[0]!.n;
    const deadlineMs = performance.now() + 150_000;
    while ((await count('done')) < JOBS) {
      if (performance.now() > deadlineMs) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(await count('done')).toBe(JOBS);
    const one = async (query: ReturnType<typeof sql<{ n: number }>>) => (await query.execute(db)).rows[0]!.n;
    expect(await one(sql`select count(*) as n from ended`)).toBe(JOBS);
    expect(await one(sql`select count(distinct id) as n from handled`)).toBe(JOBS);
    expect(await one(sql`select max(n) as n from (select count(*) as n from handled group by id, attempt) each`)).toBe(
      1,
    );
    expect(await one(sql`select count(*) as n from job where attempt > 1`)).toBeGreaterThan(0);
  } finally {
    for (const worker of workers) worker.process.kill('SIGKILL');
    await Promise.all(workers.map(({ closed }) => closed));
    await database.close();
    await server.stop();
  }
});

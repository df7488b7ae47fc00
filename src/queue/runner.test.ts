import { expect, it, vi } from 'vitest';
import { quietLogger } from '../../test/support/logger.js';
import { scriptedDatabase } from '../../test/support/scripted-database.js';
import type { Database } from '../db/database.js';
import { LEASE_LOST } from '../lib/abort.js';
import { systemClock } from '../lib/clock.js';
import { Runner } from './runner.js';

it.each(['gives no answer', 'fails'])('ends a job with its lease when the database %s', async (how) => {
  let isClaimed = false;
  let lease = '';
  const queryable = scriptedDatabase((statement) => {
    if (statement.includes('unnest')) return [{ queue: 'work' }];
    if (!statement.includes('gen_random_uuid')) {
      if (how === 'fails') throw new Error('connection lost');
      return new Promise<never>(() => undefined);
    }
    if (isClaimed) return [];
    isClaimed = true;
    return [{ id: 'job', queue: 'work', payload: {}, lease_id: 'lease', attempt: 1 }];
  });
  const runner = new Runner({
    database: { queryable, listen: async () => async () => undefined } as unknown as Database,
    workers: [
      {
        queue: { name: 'work' },
        concurrency: 1,
        handler: (_, { signal }) =>
          new Promise((_, reject) =>
            signal.addEventListener('abort', () => {
              lease = signal.reason === LEASE_LOST ? 'lost' : 'held';
              reject(signal.reason);
            }),
          ),
      },
    ],
    logger: quietLogger,
    clock: systemClock,
    workerId: 'worker',
    leaseMs: 300,
  });
  await runner.start();
  await vi.waitFor(() => expect(lease).toBe('lost'), { timeout: 10_000 });
  await runner.stop(1000);
});

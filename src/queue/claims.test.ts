import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { quietLogger } from '../../test/support/logger.js';
import { scriptedDatabase } from '../../test/support/scripted-database.js';
import { systemClock } from '../lib/clock.js';
import { Claims } from './claims.js';

it('looks again when it is asked to at the moment when a claim ends', async () => {
  // At each step between the response of the database and the end of the claim, and some after it.
  for (let steps = 1; steps < 60; steps++) {
    const handled: string[] = [];
    let asked = 0;
    let isReady = false;
    const askAgain = async (): Promise<void> => {
      for (let step = 0; step < steps; step++) await undefined;
      isReady = true;
      await claims.claim('work');
    };
    const db = scriptedDatabase(() => {
      asked += 1;
      if (asked === 1) void askAgain();
      if (!isReady || handled.length > 0) return [];
      return [{ id: 'job', queue: 'work', payload: {}, lease_id: 'lease', attempt: 1 }];
    });
    const claims = new Claims({
      db,
      clock: systemClock,
      logger: quietLogger,
      workers: [{ queue: { name: 'work' }, concurrency: 1, handler: async () => undefined }],
      workerId: 'worker',
      leaseMs: 30_000,
      execute: async ({ row }) => void handled.push(row.id),
    });
    await claims.claim('work');
    for (let turns = 0; turns < 5; turns++) await turn();
    expect([steps, handled]).toEqual([steps, ['job']]);
    claims.stop();
  }
});

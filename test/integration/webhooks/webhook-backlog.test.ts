import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { deleteOldEvents } from '#kinora/db/tables/server/event.js';
import { purgeEvents } from '#kinora/jobs/purge-events.js';
import { WebhookDeliverer } from '#kinora/jobs/webhook-deliverer.js';
import type { WebhookSender } from '#kinora/net/send-webhook.js';
import { describeOnBothEngines } from '../../contract/engines.js';
import { memoryLogger } from '../../support/memory-logger.js';
import { until } from '../../support/servers/server-process.js';
import { movableClock } from '../../support/servers/webhooks.js';

const HOUR_MS = 3600_000;

describeOnBothEngines('a backlog', (database) => {
  it('of deliveries is neither loaded at once nor removed by age', async () => {
    const db = database().queryable;
    // Inserting is slow on the embedded engine, and the statements are the same.
    const pending = database().engine === 'pglite' ? 20_000 : 100_000;
    const clock = movableClock();
    const logger = memoryLogger();
    await sql`insert into environment (id, name, type) values ('backlg', 'backlog', 'development')`.execute(db);
    await sql`insert into webhook (id, environment_id, address, signing_secret)
      values ('hook01', 'backlg', 'https://hook01.example.org/', 'secret')`.execute(db);
    // Two hours old; the first 5000 are delivered.
    await sql`
      insert into event (id, environment_id, created_at, type, object_type, object_id, body)
      select gen_random_uuid(), 'backlg', now() - interval '2 hours', 'video.asset.created', 'asset', 'asset' || n,
        ${JSON.stringify({ filler: 'x'.repeat(500) })}
      from generate_series(1, ${pending + 5000}) n`.execute(db);
    await sql`
      insert into webhook_delivery (id, webhook_id, event_id, object_id, created_at, next_attempt_at, state)
      select gen_random_uuid(), 'hook01', id, object_id, created_at, created_at,
        case when seq <= (select min(seq) + 4999 from event) then 'succeeded' else 'pending' end
      from event`.execute(db);
    await sql`analyze`.execute(db);

    let active = 0;
    let mostActive = 0;
    let sent = 0;
    const held: (() => void)[] = [];
    const sender: WebhookSender = {
      allows: async () => true,
      send: async (_address, _message, signal) => {
        mostActive = Math.max(mostActive, ++active);
        // The first thousand are answered, then the receiver falls silent.
        if (++sent > 1000) {
          await new Promise<void>((resolve) => {
            held.push(resolve);
            signal?.addEventListener('abort', () => resolve());
          });
        }
        active--;
        return { status: 200 };
      },
    };
    const beforeBytes = process.memoryUsage().heapUsed;
    const deliverer = new WebhookDeliverer({ database: database(), sender, clock, logger, mayWork: () => true });
    await deliverer.start();
    await until('a thousand are sent', () => sent > 1000 && active === 8, 120_000);
    expect(mostActive).toBe(8);
    // 100,000 events are more than 64 MiB in memory.
    expect(process.memoryUsage().heapUsed - beforeBytes).toBeLessThan(64 * 2 ** 20);
    for (const release of held) release();
    await deliverer.stop(1000);
    expect(logger.lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);

    const purge = () => purgeEvents({ database: database(), clock, logger, retentionMs: HOUR_MS });
    const states = async () => {
      const { rows } = await sql<{ state: string; count: number }>`
        select state, count(*)::integer as count from webhook_delivery group by state`.execute(db);
      return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
    };
    const before = await states();
    expect(await purge()).toBe(before.succeeded);
    expect(await states()).toEqual({ pending: before.pending });
    expect(await purge()).toBe(0);
    // Nobody waits for what a disabled webhook was to get.
    await sql`update webhook set enabled = false`.execute(db);
    expect(await deleteOldEvents(db, clock.now(), 50)).toBe(50);
    expect(await states()).toEqual({ pending: before.pending! - 50 });
  });
});

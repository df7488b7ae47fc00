import { sql } from 'kysely';
import type { Queryable, Transaction } from '../../database.js';
import type { NewRow, Row } from '../../schema.js';
import type { ListPosition } from '../assets/asset.js';
import { WEBHOOK_READY } from './event.js';

/** A delivery that is due, with everything needed to send it. */
export interface DueDelivery {
  readonly id: string;
  readonly webhook_id: string;
  /** Number of attempts made so far. */
  readonly attempts: number;
  readonly body: string;
  readonly address: string;
  readonly signing_secret: string;
}

/** Limits the cost of one query on a large backlog. */
const LOOK_AHEAD = 500;

/**
 * Lists the next deliveries of each enabled webhook, those due longest first, up to its number of
 * `places`. A delivery waits while an earlier pending delivery for the same object is also due or
 * was created after `orderedSince`.
 */
export const listDueDeliveries = async (
  db: Queryable,
  freeSlots: ReadonlyMap<string, number>,
  query: { now: Date; orderedSince: Date; except: readonly string[] },
): Promise<DueDelivery[]> => {
  const { now, orderedSince, except } = query;
  const { rows } = await sql<DueDelivery>`
    select first.id, first.webhook_id, first.attempts, event.body, webhook.address, webhook.signing_secret
    from unnest(${[...freeSlots.keys()]}::text[], ${[...freeSlots.values()]}::integer[]) as receiver (webhook_id, places)
    join webhook on webhook.id = receiver.webhook_id and webhook.enabled
    cross join lateral (
      select due.* from (
        select id, seq, webhook_id, event_id, object_id, attempts, next_attempt_at from webhook_delivery
        where webhook_id = receiver.webhook_id and state = 'pending' and next_attempt_at <= ${now}::timestamptz
          and id <> all(${except}::uuid[])
        order by next_attempt_at, seq
        limit ${LOOK_AHEAD}
      ) due
      where not exists (
        select from webhook_delivery earlier
        where earlier.webhook_id = due.webhook_id and earlier.object_id = due.object_id and earlier.state = 'pending'
          and earlier.seq < due.seq
          and (earlier.next_attempt_at <= ${now}::timestamptz or earlier.created_at > ${orderedSince}::timestamptz)
      )
      order by next_attempt_at, seq
      limit receiver.places
    ) first
    join event on event.id = first.event_id
    order by first.next_attempt_at, first.seq`.execute(db);
  return rows;
};

/** The result of one attempt. Without `retryAt` there is no further attempt. */
export interface AttemptResult {
  readonly deliveryId: string;
  readonly address: string;
  readonly createdAt: Date;
  readonly durationMs: number;
  readonly succeeded: boolean;
  readonly retryAt?: Date | undefined;
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  readonly error?: string | undefined;
}

/**
 * Saves several attempts and updates their deliveries. Attempts of deleted deliveries are skipped.
 */
export const saveAttempts = async (db: Queryable, results: readonly AttemptResult[], now: Date): Promise<void> => {
  await sql`
    with result as (
      select * from jsonb_to_recordset(${JSON.stringify(results)}::jsonb) as result (
        "deliveryId" uuid, address text, "createdAt" timestamptz, "durationMs" integer, succeeded boolean,
        "retryAt" timestamptz, status integer, headers jsonb, body text, error text)
    ), changed as (
      update webhook_delivery delivery set
        attempts = delivery.attempts + 1,
        -- A webhook that was disabled while the request was under way may still have got it.
        state = case
          when result.succeeded then 'succeeded'
          when delivery.state = 'pending' and result."retryAt" is null then 'failed'
          else delivery.state
        end,
        next_attempt_at = coalesce(result."retryAt", delivery.next_attempt_at),
        finished_at = case
          when result.succeeded or result."retryAt" is null then ${now}::timestamptz
          else delivery.finished_at
        end
      from result
      where delivery.id = result."deliveryId"
      returning delivery.id, delivery.attempts
    )
    insert into webhook_attempt (delivery_id, number, address, created_at, duration_ms, response_status,
      response_headers, response_body, error)
    select changed.id, changed.attempts, address, "createdAt", "durationMs", status, headers, body, error
    from changed join result on result."deliveryId" = changed.id`.execute(db);
};

export const insertDelivery = async (tx: Transaction, row: NewRow<'webhook_delivery'>): Promise<void> => {
  await tx.insertInto('webhook_delivery').values(row).execute();
  await sql`select pg_notify(${WEBHOOK_READY}, ${row.webhook_id})`.execute(tx);
};

/** Stops all pending deliveries to a webhook. */
export const stopDeliveries = async (db: Queryable, webhookId: string, now: Date): Promise<void> => {
  await db
    .updateTable('webhook_delivery')
    .set({ state: 'stopped', finished_at: now })
    .where('webhook_id', '=', webhookId)
    .where('state', '=', 'pending')
    .execute();
};

/** A delivery with the type of its event and object. */
export interface DeliveryRow extends Row<'webhook_delivery'> {
  readonly event_type: string;
  readonly object_type: string;
}

const selectDeliveries = (db: Queryable) =>
  db
    .selectFrom('webhook_delivery')
    .innerJoin('event', 'event.id', 'webhook_delivery.event_id')
    .selectAll('webhook_delivery')
    .select(['event.type as event_type', 'event.object_type']);

export const findDelivery = (db: Queryable, webhookId: string, id: string): Promise<DeliveryRow | undefined> =>
  selectDeliveries(db)
    .where('webhook_delivery.id', '=', id)
    .where('webhook_delivery.webhook_id', '=', webhookId)
    .executeTakeFirst();

/** Newest first. */
export const listDeliveries = (
  db: Queryable,
  webhookId: string,
  { limit, offset, after }: { limit: number; offset: number; after?: ListPosition },
): Promise<DeliveryRow[]> => {
  const select = selectDeliveries(db).where('webhook_delivery.webhook_id', '=', webhookId);
  return (after ? select.where('webhook_delivery.seq', '<', after.seq) : select)
    .orderBy('webhook_delivery.seq', 'desc')
    .limit(limit)
    .offset(after ? 0 : offset)
    .execute();
};

/** The attempts of each delivery, in order. */
export const listAttempts = (db: Queryable, deliveryIds: readonly string[]): Promise<Row<'webhook_attempt'>[]> =>
  deliveryIds.length === 0
    ? Promise.resolve([])
    : db
        .selectFrom('webhook_attempt')
        .selectAll()
        .where('delivery_id', 'in', deliveryIds)
        .orderBy('delivery_id')
        .orderBy('number')
        .execute();

/** Lists all attempts to send an event to any webhook, ordered by time. */
export const listAttemptsOfEvent = (
  db: Queryable,
  eventId: string,
): Promise<(Row<'webhook_attempt'> & { webhook_id: string })[]> =>
  db
    .selectFrom('webhook_attempt')
    .innerJoin('webhook_delivery', 'webhook_delivery.id', 'webhook_attempt.delivery_id')
    .selectAll('webhook_attempt')
    .select('webhook_delivery.webhook_id')
    .where('webhook_delivery.event_id', '=', eventId)
    .orderBy('webhook_attempt.created_at')
    .execute();

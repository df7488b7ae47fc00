import { sql } from 'kysely';
import type { Queryable, Transaction } from '../../database.js';
import { prepared } from '../../prepared.js';
import type { NewRow, Row } from '../../schema.js';
import type { ListPosition } from '../assets/asset.js';

/** NOTIFY channel: the payload is the id of a webhook that has something to send. */
export const WEBHOOK_READY = 'kinora_webhook_ready';

/**
 * Stores an event and its delivery to each enabled webhook. It uses a single statement because it
 * is part of every change. The share lock makes disabling or deleting a webhook wait for this
 * transaction or finish before it, so that no delivery is left over.
 */
export const insertEvent = async (tx: Transaction, event: NewRow<'event'>): Promise<void> => {
  await sql`
    with new_event as (
      insert into event (id, environment_id, created_at, type, object_type, object_id, body)
      values (${event.id}, ${event.environment_id}, ${event.created_at}::timestamptz, ${event.type},
        ${event.object_type}, ${event.object_id}, ${event.body})
    ), receiver as materialized (
      select id from webhook where environment_id = ${event.environment_id} and enabled order by seq for share
    ), delivery as (
      insert into webhook_delivery (id, webhook_id, event_id, object_id, created_at, next_attempt_at)
      select gen_random_uuid(), id, ${event.id}::uuid, ${event.object_id}, ${event.created_at}::timestamptz,
        ${event.created_at}::timestamptz
      from receiver
      returning webhook_id
    )
    select pg_notify(${WEBHOOK_READY}, webhook_id) from delivery`.execute(tx);
};

/** Stores an event without any deliveries; the caller adds them separately. */
export const insertUnsentEvent = async (tx: Transaction, event: NewRow<'event'>): Promise<void> => {
  await tx.insertInto('event').values(event).execute();
};

export const findEvent = (db: Queryable, environmentId: string, id: string): Promise<Row<'event'> | undefined> =>
  db
    .selectFrom('event')
    .selectAll()
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();

export interface ListEventsQuery {
  readonly limit: number;
  /** Rows to skip at the start; ignored if `after` is set. */
  readonly offset: number;
  readonly after?: ListPosition;
  readonly type?: string | undefined;
  readonly objectType?: string | undefined;
  readonly objectId?: string | undefined;
}

/** Newest first. */
export const listEvents = (db: Queryable, environmentId: string, query: ListEventsQuery): Promise<Row<'event'>[]> => {
  const { after, type, objectType, objectId } = query;
  let select = db.selectFrom('event').selectAll().where('environment_id', '=', environmentId);
  if (type !== undefined) select = select.where('type', '=', type);
  if (objectType !== undefined) select = select.where('object_type', '=', objectType);
  if (objectId !== undefined) select = select.where('object_id', '=', objectId);
  if (after) select = select.where('seq', '<', after.seq);
  return select
    .orderBy('seq', 'desc')
    .limit(query.limit)
    .offset(after ? 0 : query.offset)
    .modifyEnd(prepared)
    .execute();
};

/**
 * Removes up to `limit` events from before a time, oldest first, with their deliveries. Keeps
 * events with pending deliveries to enabled webhooks. Returns the number of removed events.
 */
export const deleteOldEvents = async (db: Queryable, before: Date, limit: number): Promise<number> => {
  const { rows } = await sql`
    delete from event where id in (
      select id from event
      where created_at < ${before}::timestamptz and not exists (
        select from webhook_delivery delivery join webhook on webhook.id = delivery.webhook_id and webhook.enabled
        where delivery.event_id = event.id and delivery.state = 'pending'
      )
      order by created_at
      limit ${limit}
    )
    returning id`.execute(db);
  return rows.length;
};

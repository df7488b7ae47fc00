import type { Queryable } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { findEnvironment } from '../../db/tables/server/environment.js';
import { insertUnsentEvent } from '../../db/tables/server/event.js';
import { lockWebhook } from '../../db/tables/server/webhook.js';
import {
  type DeliveryRow,
  findDelivery,
  insertDelivery,
  listAttempts,
  listDeliveries as listDeliveryRows,
  saveAttempts,
} from '../../db/tables/server/webhook-delivery.js';
import { KinoraError } from '../../lib/errors.js';
import { isUuid, newUuid } from '../../lib/ids.js';
import type { WebhookSender } from '../../net/send-webhook.js';
import type { DomainContext } from '../context.js';
import { makeEvent } from '../events/record-event.js';
import type { CursorPosition, ListQuery } from '../requests/list-query.js';
import { attemptDelivery } from './attempt-delivery.js';
import { MAX_ATTEMPTS } from './retry-timetable.js';

/** A delivery and its attempts in order. */
export interface DeliveryView {
  readonly delivery: DeliveryRow;
  readonly attempts: readonly Row<'webhook_attempt'>[];
}

export interface DeliveryPage {
  readonly deliveries: readonly DeliveryView[];
  /** Null on the last page. */
  readonly next: CursorPosition | null;
}

const viewDeliveries = async (db: Queryable, rows: readonly DeliveryRow[]): Promise<DeliveryView[]> => {
  const attempts = await listAttempts(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map((delivery) => ({
    delivery,
    attempts: attempts.filter(({ delivery_id }) => delivery_id === delivery.id),
  }));
};

/** Newest first. */
export const listDeliveries = async (
  { database }: DomainContext,
  webhookId: string,
  query: ListQuery,
): Promise<DeliveryPage> => {
  // One more than requested, to find out whether there is a next page.
  const rows = await listDeliveryRows(database.queryable, webhookId, { ...query, limit: query.limit + 1 });
  const page = rows.slice(0, query.limit);
  const last = page.at(-1);
  const more = last !== undefined && rows.length > page.length;
  return {
    deliveries: await viewDeliveries(database.queryable, page),
    next: more ? { createdAt: last.created_at, seq: last.seq } : null,
  };
};

/** @throws KinoraError `not_found` */
export const getDelivery = async (
  { database }: DomainContext,
  webhookId: string,
  deliveryId: string,
): Promise<DeliveryView> => {
  const row = isUuid(deliveryId) ? await findDelivery(database.queryable, webhookId, deliveryId) : undefined;
  if (!row) throw new KinoraError('not_found');
  const [view] = await viewDeliveries(database.queryable, [row]);
  return view!;
};

/**
 * Sends the same event again as a new delivery with all retries, so that earlier attempts remain
 * visible.
 * @throws KinoraError `not_found`; `invalid_parameters` when the webhook is disabled
 */
export const redeliver = async (
  context: DomainContext,
  webhook: Row<'webhook'>,
  deliveryId: string,
): Promise<DeliveryView> => {
  const { delivery } = await getDelivery(context, webhook.id, deliveryId);
  const id = newUuid();
  const now = context.clock.now();
  await context.database.transaction(async (tx) => {
    const locked = await lockWebhook(tx, webhook.environment_id, webhook.id);
    if (!locked) throw new KinoraError('not_found');
    if (!locked.enabled) throw new KinoraError('invalid_parameters', { messages: ['The webhook is disabled'] });
    await insertDelivery(tx, {
      id,
      webhook_id: webhook.id,
      event_id: delivery.event_id,
      object_id: delivery.object_id,
      created_at: now,
      next_attempt_at: now,
      finished_at: null,
    });
  });
  return getDelivery(context, webhook.id, id);
};

/**
 * Sends an event of the type `kinora.webhook.test` immediately, even to a disabled webhook, without
 * retries.
 */
export const testWebhook = async (
  context: DomainContext,
  sender: WebhookSender,
  webhook: Row<'webhook'>,
): Promise<DeliveryView> => {
  const { database, clock } = context;
  const environment = await findEnvironment(database.queryable, webhook.environment_id);
  if (!environment) throw new KinoraError('not_found');
  const createdAt = clock.now();
  const event = makeEvent(
    environment,
    {
      type: 'kinora.webhook.test',
      object: { type: 'webhook', id: webhook.id },
      data: context.wire.webhook(webhook),
    },
    createdAt,
  );
  const id = newUuid();
  const { address, signing_secret } = webhook;
  const due = { id, attempts: MAX_ATTEMPTS - 1, body: event.body, address, signing_secret };
  const result = await attemptDelivery({ sender, clock }, due);
  await database.transaction(async (tx) => {
    // It may have been deleted in the meantime.
    if (!(await lockWebhook(tx, webhook.environment_id, webhook.id))) throw new KinoraError('not_found');
    await insertUnsentEvent(tx, event);
    await insertDelivery(tx, {
      id,
      webhook_id: webhook.id,
      event_id: event.id,
      object_id: webhook.id,
      created_at: createdAt,
      next_attempt_at: createdAt,
      finished_at: null,
    });
    await saveAttempts(tx, [result], clock.now());
  });
  return getDelivery(context, webhook.id, id);
};

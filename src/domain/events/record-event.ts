import type { Transaction } from '../../db/database.js';
import { findEnvironment } from '../../db/tables/environment.js';
import { insertDeliveries, insertEvent, listEnabledWebhooks } from '../../db/tables/event.js';
import { isoMicroseconds } from '../../lib/clock.js';
import { newUuid } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';
import type { EventObjectType, EventType } from './event-types.js';

export interface NewEvent {
  readonly environmentId: string;
  readonly type: EventType;
  readonly object: { readonly type: EventObjectType; readonly id: string };
  /** The resource as receivers see it, at this moment (`api/serialize-events.ts`). */
  readonly data: object;
}

/** The queue that sends; one job for each webhook with something to send, whose key is the webhook's id. */
export const DELIVERY_QUEUE = 'deliver-webhooks';

/**
 * Writes an event, and what each enabled webhook is to be sent, in the transaction that changes the state: neither can be
 * without the other. The envelope is stored as the text that every attempt sends.
 */
export const recordEvent = async (
  { queue, clock }: Pick<DomainContext, 'queue' | 'clock'>,
  tx: Transaction,
  { environmentId, type, object, data }: NewEvent,
): Promise<void> => {
  const environment = await findEnvironment(tx, environmentId);
  // Removed with everything that it held: there is nobody to tell.
  if (!environment) return;
  const id = newUuid();
  const createdAt = clock.now();
  const body = JSON.stringify({
    type,
    request_id: null,
    object,
    id,
    environment: { name: environment.name, id: environment.id },
    data,
    created_at: isoMicroseconds(createdAt),
    attempts: [],
    accessor_source: null,
    accessor: null,
  });
  await insertEvent(tx, {
    id,
    environment_id: environmentId,
    created_at: createdAt,
    type,
    object_type: object.type,
    object_id: object.id,
    body,
  });
  const webhooks = await listEnabledWebhooks(tx, environmentId);
  await insertDeliveries(
    tx,
    webhooks.map((webhook) => ({
      id: newUuid(),
      webhook_id: webhook.id,
      event_id: id,
      object_id: object.id,
      next_attempt_at: createdAt,
      finished_at: null,
    })),
  );
  for (const webhook of webhooks)
    await queue.enqueue(DELIVERY_QUEUE, { webhookId: webhook.id }, { dedupeKey: webhook.id }, tx);
};

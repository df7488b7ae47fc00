import type { Transaction } from '../../db/database.js';
import type { NewRow } from '../../db/schema.js';
import { findEnvironment } from '../../db/tables/server/environment.js';
import { insertEvent } from '../../db/tables/server/event.js';
import { isoMicroseconds } from '../../lib/clock.js';
import { newUuid } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';
import type { EventObjectType, EventType } from './event-types.js';

export interface NewEvent {
  readonly environmentId: string;
  readonly type: EventType;
  readonly object: { readonly type: EventObjectType; readonly id: string };
  /** The resource at this moment, as receivers see it (`WireFormat`). */
  readonly data: object;
}

/**
 * Writes an event, and its deliveries to each enabled webhook, in the transaction that changes the
 * state: either both are stored or neither. The envelope is stored as the text that every attempt
 * sends.
 */
export const recordEvent = async (
  { clock }: Pick<DomainContext, 'clock'>,
  tx: Transaction,
  { environmentId, type, object, data }: NewEvent,
): Promise<void> => {
  const environment = await findEnvironment(tx, environmentId);
  // The environment was removed with everything in it: there is no receiver.
  if (!environment) return;
  await insertEvent(tx, makeEvent(environment, { type, object, data }, clock.now()));
};

/** The row of an event; its body is the envelope exactly as it is sent. */
export const makeEvent = (
  environment: { readonly id: string; readonly name: string },
  { type, object, data }: Omit<NewEvent, 'environmentId'>,
  createdAt: Date,
): NewRow<'event'> & { readonly id: string } => {
  const id = newUuid();
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
  return {
    id,
    environment_id: environment.id,
    created_at: createdAt,
    type,
    object_type: object.type,
    object_id: object.id,
    body,
  };
};

import type { Transaction } from '../db/database.js';
import type { Row } from '../db/schema.js';
import type { DomainContext } from '../domain/context.js';
import type { EventType } from '../domain/events/event-types.js';
import { recordEvent } from '../domain/events/record-event.js';

export type UploadEventType = Extract<EventType, `video.upload.${string}`>;

/** Records an event about an upload in its current state, in the transaction of the change. */
export const recordUploadEvent = (
  context: Pick<DomainContext, 'queue' | 'clock' | 'wire'>,
  tx: Transaction,
  type: UploadEventType,
  upload: Row<'upload'>,
): Promise<void> =>
  recordEvent(context, tx, {
    environmentId: upload.environment_id,
    type,
    object: { type: 'upload', id: upload.id },
    data: context.wire.uploadEvent(upload),
  });

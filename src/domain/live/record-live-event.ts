import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { findLiveStreamViewById } from '../../db/tables/live/live-stream.js';
import type { DomainContext } from '../context.js';
import type { LiveEventName } from '../events/event-types.js';
import { recordEvent } from '../events/record-event.js';

/**
 * Records an event about a live stream in its current state, in the transaction of the change. For
 * a deletion, call it before the row is removed.
 */
export const recordLiveEvent = async (
  context: Pick<DomainContext, 'clock' | 'wire'>,
  tx: Transaction,
  name: LiveEventName,
  liveStreamId: string,
): Promise<void> => {
  const view = await findLiveStreamViewById(tx, liveStreamId);
  if (!view) return;
  await recordEvent(context, tx, {
    environmentId: view.environment_id,
    type: `video.live_stream.${name}`,
    object: { type: 'live', id: liveStreamId },
    data: context.wire.liveStreamEvent(view),
  });
};

export const recordSimulcastEvent = (
  context: Pick<DomainContext, 'clock' | 'wire'>,
  tx: Transaction,
  environmentId: string,
  name: Row<'simulcast_target'>['status'] | 'created' | 'deleted',
  target: Row<'simulcast_target'>,
): Promise<void> =>
  recordEvent(context, tx, {
    environmentId,
    type: `video.live_stream.simulcast_target.${name}`,
    object: { type: 'simulcast_target', id: target.id },
    data: context.wire.simulcastTargetEvent(target),
  });

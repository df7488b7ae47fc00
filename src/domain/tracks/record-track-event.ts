import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import type { DomainContext } from '../context.js';
import { recordEvent } from '../events/record-event.js';

/** Records an event about a track; `track` is its state as receivers see it. */
export const recordTrackEvent = async (
  context: Pick<DomainContext, 'clock' | 'wire'>,
  tx: Transaction,
  environmentId: string,
  happened: 'created' | 'ready' | 'errored' | 'deleted',
  track: Row<'track'>,
): Promise<void> => {
  await recordEvent(context, tx, {
    environmentId,
    type: `video.asset.track.${happened}`,
    object: { type: 'track', id: track.id },
    data: context.wire.trackEvent(track),
  });
};

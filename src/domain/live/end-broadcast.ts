import type { Transaction } from '../../db/database.js';
import type { RecordingTime, Row } from '../../db/schema.js';
import { updateAssetRow } from '../../db/tables/assets/asset.js';
import { listSimulcastTargets, updateLiveStreamRow, updateSimulcastTarget } from '../../db/tables/live/live-stream.js';
import type { DomainContext } from '../context.js';
import { queues } from '../queues.js';
import { recordLiveEvent, recordSimulcastEvent } from './record-live-event.js';

type Context = Pick<DomainContext, 'clock' | 'wire' | 'queue'>;

/** Segments and discontinuities, more than there are. */
const MOST_PER_SECOND = 2;

/** What a broadcast has left. */
export interface EndedBroadcast {
  readonly durationSeconds: number;
  readonly recordingTimes: readonly RecordingTime[];
  /** Numbers with which the next broadcast begins; the same as before if absent. */
  readonly nextSequence?: number;
  readonly nextDiscontinuity?: number;
}

/**
 * Ends the broadcast of a locked live stream in the transaction, and queues the ingest that makes
 * its recording an ordinary asset. Without `ended`, what is stored of the asset stays as it is.
 * False when there was none.
 */
export const endBroadcast = async (
  context: Context,
  tx: Transaction,
  stream: Row<'live_stream'>,
  ended?: EndedBroadcast,
): Promise<boolean> => {
  const { id, status, environment_id: environmentId, active_asset_id: assetId } = stream;
  if (assetId === null) return false;
  const { nextSequence, nextDiscontinuity } = ended ?? leastAfterLost(stream);
  await updateLiveStreamRow(tx, id, {
    ...(status === 'active' && { status: 'idle' as const }),
    recording: false,
    active_asset_id: null,
    ...(nextSequence !== undefined && { next_sequence: nextSequence }),
    ...(nextDiscontinuity !== undefined && { next_discontinuity: nextDiscontinuity }),
  });
  await updateAssetRow(tx, assetId, {
    is_live: false,
    progress_state: 'ingesting',
    progress: 0,
    ...(ended && {
      duration_seconds: ended.durationSeconds,
      recording_times: JSON.stringify(ended.recordingTimes),
    }),
  });
  await context.queue.enqueue(queues.ingest, { assetId }, {}, tx);
  await stopSimulcast(context, tx, id, environmentId);
  await recordLiveEvent(context, tx, 'idle', id);
  return true;
};

/**
 * What a lost broadcast has published is not known. Its numbers must not be used again, because
 * caches have its segments.
 */
const leastAfterLost = (stream: Row<'live_stream'>): Pick<EndedBroadcast, 'nextSequence' | 'nextDiscontinuity'> => ({
  nextSequence: stream.next_sequence + MOST_PER_SECOND * stream.max_continuous_duration,
  nextDiscontinuity: stream.next_discontinuity + MOST_PER_SECOND * stream.max_continuous_duration,
});

/** Returns all targets of a live stream to `idle`. */
export const stopSimulcast = async (
  context: Pick<DomainContext, 'clock' | 'wire'>,
  tx: Transaction,
  liveStreamId: string,
  environmentId: string,
): Promise<void> => {
  for (const { id } of await listSimulcastTargets(tx, liveStreamId)) {
    const changed = await updateSimulcastTarget(tx, id, { status: 'idle', error_severity: null });
    if (changed) await recordSimulcastEvent(context, tx, environmentId, 'idle', changed);
  }
};

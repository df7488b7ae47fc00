import {
  countFoundLiveStreams,
  type LiveStreamSearch,
  listFoundLiveStreams,
  listLatestRecordings,
} from '../../db/tables/live/live-stream-search.js';
import { listEvents } from '../../db/tables/server/event.js';
import type { DomainContext } from '../context.js';
import type { LiveStreamView } from './live-stream-view.js';

export type { LiveStreamSearch } from '../../db/tables/live/live-stream-search.js';

/** More than one broadcast is warned of. */
const MAX_WARNINGS = 20;

/** A live stream in a list, with the recording of its current or latest broadcast. */
export interface FoundLiveStream {
  readonly stream: LiveStreamView;
  readonly latestRecording: { readonly id: string; readonly createdAt: Date } | undefined;
}

/** One page of the live streams of an environment, and the number of those that match. */
export const searchLiveStreams = async (
  { database }: Pick<DomainContext, 'database'>,
  environmentId: string,
  search: LiveStreamSearch,
): Promise<{ found: FoundLiveStream[]; total: number }> => {
  const db = database.queryable;
  const [streams, total] = await Promise.all([
    listFoundLiveStreams(db, environmentId, search),
    countFoundLiveStreams(db, environmentId, search),
  ]);
  const latest = await listLatestRecordings(
    db,
    streams.map(({ id }) => id),
  );
  const byStream = new Map(
    latest.map(({ live_stream_id: streamId, id, created_at: createdAt }) => [streamId, { id, createdAt }]),
  );
  return { found: streams.map((stream) => ({ stream, latestRecording: byStream.get(stream.id) })), total };
};

/** What was wrong with a broadcast, and what its owner can change. */
export interface LiveWarning {
  readonly type: string;
  readonly message: string;
  readonly createdAt: Date;
}

/** Warnings of the current broadcast, or of the latest one; the oldest first. */
export const listLiveWarnings = async (
  { database }: Pick<DomainContext, 'database'>,
  { environment_id: environmentId, active_asset_id, recent_asset_ids: recent }: LiveStreamView,
): Promise<{ readonly assetId: string | undefined; readonly warnings: LiveWarning[] }> => {
  const assetId = active_asset_id ?? recent.at(-1);
  if (assetId === undefined) return { assetId, warnings: [] };
  const events = await listEvents(database.queryable, environmentId, {
    ...{ limit: MAX_WARNINGS, offset: 0, type: 'video.asset.warning', objectType: 'asset', objectId: assetId },
  });
  const warnings = events.reverse().map(({ body, created_at: createdAt }) => {
    const { warning } = (JSON.parse(body) as { data: { warning: { type: string; message: string } } }).data;
    return { ...warning, createdAt };
  });
  return { assetId, warnings };
};

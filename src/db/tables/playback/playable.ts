import { sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Queryable } from '../../database.js';
import { prepared } from '../../prepared.js';
import type { Row } from '../../schema.js';

/** What a viewer's request needs to know about a playback ID. */
export type PlayableRow = Pick<Row<'playback_id'>, 'policy' | 'environment_id' | 'drm_configuration_id'> &
  Pick<Row<'asset'>, 'status' | 'meta' | 'thumbnail_time' | 'chapters' | 'recording_times' | 'av1' | 'av1_state'> & {
    readonly asset_id: string;
  };

const TRACK_COLUMNS = [
  ...(['id', 'type', 'name', 'language_code', 'is_primary', 'closed_captions', 'text_source'] as const),
] as const;

/**
 * `audio` is the plan of an alternate audio track without the boundaries, which take up most of the
 * plan.
 */
export type PlayableTrack = Pick<Row<'track'>, (typeof TRACK_COLUMNS)[number]> & { readonly audio: object | null };

export interface FoundPlayable extends PlayableRow {
  readonly playback_id: string;
  /** Of an asset that records a broadcast: it has no plan while it is live. */
  readonly live_stream_id: string | null;
  /** Those that are ready, in order of creation; empty until the asset is ready. */
  readonly tracks: readonly PlayableTrack[];
  /** Null until the asset is ready, and for assets in `knownPlans`. */
  readonly plan: object | null;
}

/**
 * Finds all of these playback IDs in one query. The plans of `knownPlans` (assets) are left out,
 * because plans are large.
 */
export const findPlayables = (
  db: Queryable,
  playbackIds: readonly string[],
  knownPlans: readonly string[] = [],
): Promise<FoundPlayable[]> =>
  db
    .selectFrom('playback_id')
    .innerJoin('asset', 'asset.id', 'playback_id.asset_id')
    .leftJoin('asset_media', (join) =>
      join
        .onRef('asset_media.asset_id', '=', 'asset.id')
        .on('asset.status', '=', 'ready')
        .on(sql<boolean>`asset.id <> all(${sql.val(knownPlans)}::text[])`),
    )
    .select(['playback_id.id as playback_id', 'playback_id.policy', 'asset.id as asset_id'])
    .select(['playback_id.environment_id', 'playback_id.drm_configuration_id'])
    .select([
      'asset.live_stream_id',
      'asset.status',
      'asset.meta',
      'asset.thumbnail_time',
      'asset.chapters',
      'asset.recording_times',
      'asset.av1',
      'asset.av1_state',
      'asset_media.plan',
    ])
    .select(({ selectFrom }) =>
      jsonArrayFrom(
        selectFrom('track')
          .leftJoin('track_media', 'track_media.track_id', 'track.id')
          .select(TRACK_COLUMNS.map((column) => `track.${column}` as const))
          .select(sql<object | null>`track_media.plan - 'boundaries'`.as('audio'))
          .whereRef('track.asset_id', '=', 'asset.id')
          .where('track.status', '=', 'ready')
          .where(sql<boolean>`asset.status = 'ready'`)
          .orderBy('track.seq'),
      ).as('tracks'),
    )
    .where(sql<boolean>`playback_id.id = any(${sql.val(playbackIds)}::text[])`)
    .modifyEnd(prepared)
    .execute();

export interface FoundLiveStream
  extends Pick<Row<'playback_id'>, 'policy' | 'environment_id' | 'drm_configuration_id'>,
    Pick<Row<'live_stream'>, 'meta' | 'status'> {
  readonly playback_id: string;
  readonly live_stream_id: string;
}

/** Finds those of these playback IDs that belong to live streams. */
export const findPlayableStreams = (db: Queryable, playbackIds: readonly string[]): Promise<FoundLiveStream[]> =>
  db
    .selectFrom('playback_id')
    .innerJoin('live_stream', 'live_stream.id', 'playback_id.live_stream_id')
    .select(['playback_id.id as playback_id', 'playback_id.policy', 'live_stream.id as live_stream_id'])
    .select(['playback_id.environment_id', 'playback_id.drm_configuration_id', 'live_stream.meta'])
    .select('live_stream.status')
    .where(sql<boolean>`playback_id.id = any(${sql.val(playbackIds)}::text[])`)
    .modifyEnd(prepared)
    .execute();

/** Undefined when the asset has no ready alternate audio track with this id. */
export const findAlternateAudio = (
  db: Queryable,
  assetId: string,
  trackId: string,
): Promise<Pick<Row<'track_media'>, 'source_asset_id' | 'source_track_id' | 'joined' | 'plan'> | undefined> =>
  db
    .selectFrom('track')
    .innerJoin('track_media', 'track_media.track_id', 'track.id')
    .select(['track_media.source_asset_id', 'track_media.source_track_id', 'track_media.joined', 'track_media.plan'])
    .where('track.id', '=', trackId)
    .where('track.asset_id', '=', assetId)
    .where('track.status', '=', 'ready')
    .executeTakeFirst();

export const findPlan = async (db: Queryable, assetId: string): Promise<object | undefined> => {
  const row = await db.selectFrom('asset_media').select('plan').where('asset_id', '=', assetId).executeTakeFirst();
  return row?.plan ?? undefined;
};

/**
 * The state of an asset with the facts of its source and its plan, which are null until they are
 * known.
 */
export const findMedia = (db: Queryable, environmentId: string, assetId: string) =>
  db
    .selectFrom('asset')
    .leftJoin('asset_media', 'asset_media.asset_id', 'asset.id')
    .select(['asset.status', 'asset_media.facts', 'asset_media.plan'])
    .where('asset.id', '=', assetId)
    .where('asset.environment_id', '=', environmentId)
    .executeTakeFirst();

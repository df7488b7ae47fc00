import { sql } from 'kysely';
import type { Database } from '#kinora/db/database.js';
import { openDatabase } from '#kinora/db/open-database.js';
import { listEnvironments } from '#kinora/db/tables/server/environment.js';
import { quietLogger } from './logger.js';

/** A view as its row has it; times in milliseconds, those of the day since 1970. */
export interface SeededView {
  readonly id: string;
  readonly startedMs: number;
  readonly seenMs: number;
  readonly isEnded: boolean;
  readonly assetId: string | null;
  readonly liveStreamId: string | null;
  readonly startupMs: number | null;
  readonly watchMs: number;
  readonly playingMs: number;
  readonly rebuffers: number;
  readonly rebufferMs: number;
  readonly errorId: number | null;
  readonly isFailed: boolean;
  /** The page says that its failure is meant, such as a missing subscription. */
  readonly isException: boolean;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly ranges: readonly (readonly [fromMs: number, toMs: number])[];
}

/** A view of one minute without trouble that ended. */
export const viewAt = (startedMs: number, id: string, changes: Partial<SeededView> = {}): SeededView => ({
  ...{ id, startedMs, seenMs: startedMs + 60_000, isEnded: true, assetId: null, liveStreamId: null, startupMs: 500 },
  ...{ watchMs: 60_000, playingMs: 59_000, rebuffers: 0, rebufferMs: 0, errorId: null, isFailed: false },
  ...{ isException: false, dimensions: {}, ranges: [] },
  ...changes,
});

const rowOf = (environmentId: string, view: SeededView) => ({
  environment_id: environmentId,
  id: view.id,
  started_at: new Date(view.startedMs),
  seen_at: new Date(view.seenMs),
  ended_at: view.isEnded ? new Date(view.seenMs) : null,
  asset_id: view.assetId,
  live_stream_id: view.liveStreamId,
  error_id: view.errorId,
  dimensions: view.dimensions,
  video_startup_time: view.startupMs,
  watch_time: view.watchMs,
  playing_time: view.playingMs,
  rebuffer_count: view.rebuffers,
  rebuffer_duration: view.rebufferMs,
  is_startup_failure: view.isFailed && view.startupMs === null,
  is_playback_failure: view.isFailed,
  is_business_exception: view.isException,
  ranges: view.ranges,
});

/** Writes views as the collector would, without their events. */
export const seedViews = async (
  { queryable: db }: Database,
  environmentId: string,
  views: readonly SeededView[],
): Promise<void> => {
  const rows = views.map((view) => rowOf(environmentId, view));
  await sql`
    insert into video_view (environment_id, id, started_at, seen_at, ended_at, asset_id, live_stream_id, error_id,
      dimensions, video_startup_time, watch_time, playing_time, rebuffer_count, rebuffer_duration,
      is_startup_failure, is_playback_failure, is_business_exception, ranges)
    select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given (
      environment_id text, id text, started_at timestamptz, seen_at timestamptz, ended_at timestamptz, asset_id text,
      live_stream_id text, error_id integer, dimensions jsonb, video_startup_time integer, watch_time integer,
      playing_time integer, rebuffer_count integer, rebuffer_duration integer, is_startup_failure boolean,
      is_playback_failure boolean, is_business_exception boolean, ranges jsonb
    )`.execute(db);
};

/** Stores an error that views can name. */
export const seedError = async (
  { queryable: db }: Database,
  environmentId: string,
  code: string,
  message: string,
): Promise<number> => {
  const now = new Date();
  const { id } = await db
    .insertInto('view_error')
    .values({ environment_id: environmentId, code, message, created_at: now, last_seen_at: now })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
};

/** Seeds the default environment of a server that is stopped. */
export const seedDataDir = async (
  dataDir: string,
  seed: (database: Database, environmentId: string) => Promise<void>,
): Promise<void> => {
  const database = await openDatabase({ dataDir, logger: quietLogger });
  try {
    const [environment] = await listEnvironments(database.queryable);
    await seed(database, environment!.id);
  } finally {
    await database.close();
  }
};

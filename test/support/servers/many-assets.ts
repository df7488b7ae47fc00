import { sql } from 'kysely';
import type { Database } from '#kinora/db/database.js';

/** 10,000 assets: every 50th errored, every 20th preparing; `Title 7` lasts 7 seconds. */
export const fillAssets = async (database: Database): Promise<void> => {
  await sql`
    insert into asset (id, environment_id, created_at, status, ingest_type, video_quality, max_resolution_tier, mp4_support,
      master_access, normalize_audio, is_test, meta, duration_seconds)
    select lpad(n::text, 40, 'A'), (select id from environment order by created_at limit 1), now() - n * interval '1 second',
      case when n % 50 = 0 then 'errored' when n % 20 = 1 then 'preparing' else 'ready' end,
      'on_demand_url', 'basic', '1080p', 'none', 'none', false, false,
      case when n % 10 = 3 then null else jsonb_build_object('title', 'Title ' || n) end,
      case when n % 50 = 0 or n % 20 = 1 then null else n end
    from generate_series(1, 10000) n`.execute(database.queryable);
  await sql`
    insert into playback_id (id, asset_id, environment_id, policy)
    select lpad(n::text, 40, 'P'), lpad(n::text, 40, 'A'), (select id from environment order by created_at limit 1),
      case when n % 3 = 0 then 'signed' else 'public' end
    from generate_series(1, 10000) n`.execute(database.queryable);
  await sql`analyze`.execute(database.queryable);
};

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { readListQuery } from '../dist/api/validate/list-query.js';
import { migrate } from '../dist/db/migrate.js';
import { openDatabase } from '../dist/db/open-database.js';
import { listAssets } from '../dist/domain/assets/list-assets.js';
import { listUploads } from '../dist/uploads/get-upload.js';
import { ratio, spread, table } from './support/figures.mjs';
import { postgresPrograms, startPostgres } from './support/postgres.mjs';

export const title =
  'pages of 25 out of 1,000,000 uploads and 1,000,000 assets, compared with the first page of an environment with 1,000';
export const needs = [];

const ROWS = 1_000_000;
const FEW = 1000;
const ROWS_AT_ONCE = 100_000;
const REPETITIONS = 30;
const ENVIRONMENTS = [
  ['large0', ROWS],
  ['small0', FEW],
];

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => quiet };

/** Interleaves the rows of the environments in time, as after years of parallel use. */
const fill = async (db) => {
  for (const [environment, rows] of ENVIRONMENTS) {
    await sql`insert into environment (id, name, type) values (${environment}, ${environment}, 'production')`.execute(
      db,
    );
    for (let from = 0; from < rows; from += ROWS_AT_ONCE) {
      const until = Math.min(rows, from + ROWS_AT_ONCE) - 1;
      await sql`
        insert into upload (id, environment_id, created_at, status, timeout_seconds, expires_at, cors_origin,
          new_asset_settings, is_test, target_asset_id)
        select ${environment} || lpad(n::text, 34, 'u'), ${environment}, now() - interval '1 second' * (10000000 - n),
          'asset_created', 3600, now(), '*', '{"playback_policies":["public"],"passthrough":"order-81"}', false,
          lpad(n::text, 40, 'a')
        from generate_series(${from}::int, ${until}::int) n`.execute(db);
      await sql`
        insert into asset (id, environment_id, created_at, status, progress_state, progress, ingest_type, video_quality,
          max_resolution_tier, mp4_support, master_access, normalize_audio, is_test, passthrough, duration_seconds)
        select ${environment} || lpad(n::text, 34, 'a'), ${environment}, now() - interval '1 second' * (10000000 - n),
          'ready', 'completed', 100, 'on_demand_url', 'basic', '1080p', 'none', 'none', false, false, 'order-81', 42.5
        from generate_series(${from}::int, ${until}::int) n`.execute(db);
    }
  }
  // The server does this on its own after some time.
  await sql`vacuum (analyze) upload, asset`.execute(db);
};

const measure = async (engine, database, rows) => {
  const context = { database };
  const deep = { limit: '25', page: '1000' };
  const uploads = (environment, query) => () => listUploads(context, environment, readListQuery(query));
  const assets = (environment, query) => () => listAssets(context, environment, readListQuery(query), {});
  const { nextCursor } = await listAssets(context, 'large0', readListQuery(deep), {});
  const kinds = [
    ['uploads, first page', uploads('large0', {}), uploads('small0', {})],
    ['uploads, page 1,000', uploads('large0', deep), uploads('small0', {})],
    ['assets, first page', assets('large0', {}), assets('small0', {})],
    ['assets, page 1,000', assets('large0', deep), assets('small0', {})],
    ['assets, page 1,001 by cursor', assets('large0', { cursor: nextCursor }), assets('small0', {})],
  ];
  const timed = async (work) => {
    const startedMs = performance.now();
    await work();
    return performance.now() - startedMs;
  };
  for (const [label, large, small] of kinds) {
    const [ours, theirs] = [[], []];
    for (let i = -5; i < REPETITIONS; i++) {
      const pair = [await timed(large), await timed(small)];
      if (i < 0) continue;
      ours.push(pair[0]);
      theirs.push(pair[1]);
    }
    rows.push([engine, label, spread(ours), spread(theirs), ratio(ours, theirs)]);
  }
};

const measureIn = async (engine, options, rows) => {
  const database = await openDatabase({ logger: quiet, ...options });
  try {
    await migrate(database);
    await fill(database.queryable);
    await measure(engine, database, rows);
  } finally {
    await database.close();
  }
};

export const run = async () => {
  const rows = [['', '', `of ${ROWS}, ms`, `of ${FEW}, ms`, 'many / few']];
  const dataDir = await mkdtemp(join(tmpdir(), 'kinora-bench-'));
  try {
    await measureIn('embedded', { dataDir }, rows);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
  if (postgresPrograms()) {
    const postgres = await startPostgres();
    try {
      await measureIn('PostgreSQL', { dataDir, url: postgres.url }, rows);
    } finally {
      await postgres.stop();
    }
  } else {
    console.log('SKIPPED: PostgreSQL not found. apt-get install -y postgresql\n');
  }
  console.log(`Median (min to max) of ${REPETITIONS} queries, alternating; without HTTP\n`);
  table(rows);
};

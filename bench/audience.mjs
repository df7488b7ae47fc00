import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { readOverview } from '../dist/audience/read-overview.js';
import { sumUpViews } from '../dist/audience/sum-up-views.js';
import { migrate } from '../dist/db/migrate.js';
import { openDatabase } from '../dist/db/open-database.js';
import { systemClock } from '../dist/lib/clock.js';
import { ratio, spread, table } from './support/figures.mjs';
import { postgresPrograms, startPostgres } from './support/postgres.mjs';

export const title =
  'the overview of 10,000,000 views in PostgreSQL, compared with counting the same views without sums';
export const needs = [];

/** Use `AUDIENCE_VIEWS=100000 npm run bench -- audience` for a short run. */
const VIEWS = Number(process.env.AUDIENCE_VIEWS ?? 10_000_000);
const ROWS_AT_ONCE = 200_000;
const DAYS = 90;
/** Ended in the last minutes, so that they are not summed up. */
const UNSUMMED = Math.min(10_000, VIEWS / 10);
const REPETITIONS = 10;
const PAUSE_MS = 3000;
const GOAL_MS = 300;
const ENVIRONMENT = 'bench0';

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => quiet };
const dimensions = ['country', 'operating_system', 'browser', 'viewer_device_category', 'player_name', 'stream_type'];
const sums =
  'views, watch_ms, playing_ms, rebuffers, rebuffer_ms, startups, startup_ms, startup_failures, playback_failures, exits';

/** 1,000 assets, 40 countries, 8 browsers and systems; views are spread over 90 days. */
const fillViews = async (db) => {
  let next = 0;
  const fill = async () => {
    for (let from = next; from < VIEWS; from = next) {
      next += ROWS_AT_ONCE;
      await insertViews(db, from);
    }
  };
  // Each takes one core.
  await Promise.all([fill(), fill()]);
};

const insertViews = async (db, from) => {
  const until = Math.min(VIEWS, from + ROWS_AT_ONCE) - 1;
  await sql`
    insert into video_view (environment_id, id, started_at, seen_at, ended_at, is_summed, asset_id, viewer_id,
      dimensions, video_startup_time, playing_time, watch_time, rebuffer_count, rebuffer_duration)
    select ${ENVIRONMENT}, 'view-' || n, at, at + interval '1 minute', at + interval '1 minute', true,
      lpad((n * 7919 % 1000)::text, 40, 'a'), 'viewer-' || n % 1000000,
      jsonb_build_object('country', chr((65 + n % 8)::int) || chr((65 + n / 8 % 5)::int), 'browser', 'Browser ' || n % 8,
        'operating_system', 'System ' || n / 3 % 8, 'viewer_device_category', 'device ' || n / 5 % 4,
        'player_name', 'Player', 'stream_type', 'on-demand'),
      200 + n * 31 % 4000, 59000, 60000, n % 3, n % 3 * 400
    from generate_series(${from}::bigint, ${until}::bigint) n
    cross join lateral (select now() - interval '2 minutes' - make_interval(secs =>
      (${VIEWS}::bigint - 1 - n)::double precision * ${DAYS * 86_400} / ${VIEWS})) as of_view (at)`.execute(db);
};

/** What `sumUpViews` adds 500 views at a time. */
const fillSums = async (db) => {
  const value = (name) => (dimensions.includes(name) ? sql`dimensions ->> ${sql.lit(name)}` : sql.ref(name));
  const bucket = sql`floor(ln(greatest(video_startup_time, 1)::float8) / ln(1.05::float8))::int::text`;
  const parts = [
    ['', sql`''`],
    ['asset_id', value('asset_id')],
    ['startup_bucket', bucket],
  ];
  for (const name of dimensions) parts.push([name, value(name)]);
  for (const period of ['hour', 'day', 'month'])
    for (const [name, of] of parts)
      await sql`
        insert into view_rollup (environment_id, period, start, dimension, value, ${sql.raw(sums)})
        select ${ENVIRONMENT}, ${period}, date_trunc(${sql.lit(period)}, started_at, 'UTC'), ${name}, ${of}, count(*),
          sum(watch_time), sum(playing_time), sum(rebuffer_count), sum(rebuffer_duration), count(video_startup_time),
          sum(video_startup_time), 0, 0, 0
        from video_view where is_summed ${period === 'hour' ? sql`and started_at > now() - interval '14 days'` : sql``}
        group by 3, 5`.execute(db);
};

const measure = async (database) => {
  const context = { database, clock: systemClock };
  const filter = { environmentIds: [ENVIRONMENT] };
  const timed = async (work) => {
    const startedMs = performance.now();
    await work();
    return performance.now() - startedMs;
  };
  const rows = [['', 'overview, ms', 'counted without sums, ms', 'with / without']];
  for (const days of [1, 7, 30, 90]) {
    const before = new Date();
    const from = new Date(before.getTime() - days * 86_400_000);
    const count = () =>
      sql`select count(*), sum(watch_time), count(distinct asset_id), percentile_cont(0.5) within group (order by video_startup_time)
        from video_view where environment_id = ${ENVIRONMENT} and started_at >= ${from} and started_at < ${before}`.execute(
        database.queryable,
      );
    const [ours, theirs] = [[], []];
    const overview = () => readOverview(context, { filter, from, before });
    for (let i = -2; i < REPETITIONS; i++) {
      // The other query leaves closed connections behind, and a processor that is slower for a
      // moment.
      await delay(PAUSE_MS);
      await overview();
      const pair = [await timed(overview), await timed(count)];
      if (i < 0) continue;
      ours.push(pair[0]);
      theirs.push(pair[1]);
    }
    rows.push([`last ${days} days`, spread(ours), spread(theirs), ratio(ours, theirs)]);
  }
  console.log(
    `${VIEWS} views, of which ${UNSUMMED} are not summed up; median (min to max) of ${REPETITIONS}, alternating; on open connections, without HTTP; goal below ${GOAL_MS} ms\n`,
  );
  table(rows);
};

export const run = async () => {
  if (!postgresPrograms()) {
    console.log('SKIPPED: PostgreSQL not found. apt-get install -y postgresql\n');
    return;
  }
  const postgres = await startPostgres();
  const database = await openDatabase({ logger: quiet, dataDir: '/nowhere', url: postgres.url });
  try {
    const db = database.queryable;
    await migrate(database);
    await sql`insert into environment (id, name, type) values (${ENVIRONMENT}, 'bench', 'production')`.execute(db);
    await fillViews(db);
    await sql`update video_view set is_summed = false where ctid = any(array(
      select ctid from video_view order by started_at desc limit ${UNSUMMED}))`.execute(db);
    await fillSums(db);
    // The server does this on its own after some time.
    await sql`vacuum (analyze) video_view, view_rollup`.execute(db);
    await measure(database);
    const startedMs = performance.now();
    await sumUpViews({ database, clock: { ...systemClock, now: () => new Date(Date.now() + 600_000) } });
    const seconds = (performance.now() - startedMs) / 1000;
    console.log(`\nsummed up: ${Math.round(UNSUMMED / seconds)} views/s`);
  } finally {
    await database.close();
    await postgres.stop();
  }
};

-- Who watched, how well it played: views as players report them, and what is summed up of them.
-- needs 0022

create table video_view (
  environment_id text not null references environment on delete cascade,
  -- As the player names it.
  id text not null,
  -- The server's times. A view that has not been reported for a while has ended, too.
  started_at timestamptz(3) not null,
  seen_at timestamptz(3) not null,
  ended_at timestamptz(3),
  -- It is counted in view_rollup.
  is_summed boolean not null default false,

  -- Of the environment, or null; no foreign keys, because views outlive what was watched.
  asset_id text,
  live_stream_id text,
  playback_id text,
  viewer_id text,
  session_id text,
  error_id integer,
  -- Text that views are filtered and grouped by: the names of dimensions in the API, and their values.
  dimensions jsonb not null default '{}',
  -- What is only shown: names of fields in the API, and their values.
  details jsonb not null default '{}',

  -- As the player measured it. Milliseconds where nothing else is said; null until it is known.
  player_startup_time integer,
  page_load_time integer,
  video_startup_time integer,
  aggregate_startup_time integer,
  playing_time integer,
  watch_time integer,
  content_playback_time integer,
  rebuffer_count integer,
  rebuffer_duration integer,
  seek_count integer,
  seek_duration integer,
  -- Shares: 0.5 is half again as large, or half as large.
  max_upscale double precision,
  max_downscale double precision,
  -- Shares times milliseconds.
  total_upscale double precision,
  total_downscale double precision,
  request_latency double precision,
  max_request_latency double precision,
  -- Bits per second.
  request_throughput double precision,
  average_bitrate double precision,
  live_latency double precision,
  rendition_changes integer,
  rendition_upshifts integer,
  rendition_downshifts integer,
  dropped_frames integer,
  max_playhead integer,
  is_startup_failure boolean not null default false,
  is_playback_failure boolean not null default false,
  -- Not caused by a failure of the video, as the page that embeds the player says.
  is_business_exception boolean not null default false,
  -- It ended without its last report: nothing was reported for a while.
  is_dropped boolean not null default false,

  -- Media time that was played, [from, to] each, in milliseconds and in the order of playing.
  ranges jsonb not null default '[]',
  -- [name, time in milliseconds since 1970, playhead in milliseconds, details or null] each.
  events jsonb not null default '[]',
  primary key (environment_id, id)
);
create index video_view_started on video_view (environment_id, started_at desc);
create index video_view_seen on video_view (environment_id, seen_at desc);
create index video_view_ended on video_view (environment_id, ended_at desc) where ended_at is not null;
create index video_view_asset on video_view (asset_id, started_at desc) where asset_id is not null;
create index video_view_live on video_view (live_stream_id, started_at desc) where live_stream_id is not null;
create index video_view_open on video_view (seen_at) where ended_at is null;
create index video_view_unsummed on video_view (ended_at) where not is_summed;
create index video_view_viewer on video_view (environment_id, viewer_id);

-- Errors that views ended with.
create table view_error (
  id integer primary key generated always as identity,
  environment_id text not null references environment on delete cascade,
  code text not null,
  message text not null,
  created_at timestamptz(3) not null,
  last_seen_at timestamptz(3) not null,
  unique (environment_id, code, message)
);

-- Ended views, by the time at which they began.
create table view_rollup (
  environment_id text not null references environment on delete cascade,
  period text not null check (period in ('hour', 'day', 'month')),
  -- UTC.
  start timestamptz(3) not null,
  -- Empty for all views. `startup_bucket` counts views by their startup time, `error` by their error.
  dimension text not null,
  value text not null,
  views bigint not null,
  watch_ms bigint not null,
  playing_ms bigint not null,
  rebuffers bigint not null,
  rebuffer_ms bigint not null,
  -- Views with a startup time, and the sum of those times.
  startups bigint not null,
  startup_ms bigint not null,
  startup_failures bigint not null,
  playback_failures bigint not null,
  -- Views that ended before a frame was shown, without a failure.
  exits bigint not null,
  primary key (environment_id, period, dimension, start, value)
);

create table annotation (
  id text primary key,
  environment_id text not null references environment on delete cascade,
  date timestamptz(3) not null,
  note text not null,
  sub_property_id text,
  created_at timestamptz(3) not null
);
create index annotation_date on annotation (environment_id, date);

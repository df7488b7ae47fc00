-- Live streams, where they simulcast to, and what the assets of broadcasts say about them.
-- needs 0014

create table live_stream (
  id text primary key,
  seq bigint generated always as identity,
  environment_id text not null references environment on delete cascade,
  created_at timestamptz(3) not null default now(),
  status text not null default 'idle' check (status in ('idle', 'active', 'disabled')),
  -- Responses show it.
  stream_key text not null,
  -- SHA-256 of the key in hexadecimal digits: an encoder is found by it, so that how long that takes tells nothing about keys.
  stream_key_hash text not null unique,
  srt_passphrase text not null,
  latency_mode text not null check (latency_mode in ('standard', 'reduced', 'low')),
  -- In seconds; null for the default of the latency mode.
  reconnect_window double precision,
  use_slate_for_standard_latency boolean not null,
  reconnect_slate_url text,
  max_continuous_duration integer not null,
  audio_only boolean not null,
  is_test boolean not null,
  embedded_subtitles jsonb,
  generated_subtitles jsonb,
  passthrough text,
  meta jsonb,
  -- As the caller wrote them, with lists in full.
  new_asset_settings jsonb,
  -- The state of the current broadcast.
  connected boolean not null default false,
  recording boolean not null default false,
  ingest_protocol text check (ingest_protocol in ('rtmp', 'srt')),
  active_asset_id text references asset on delete set null,
  -- When the encoder of the broadcast was lost.
  disconnected_at timestamptz(3),
  -- The server that has the connection of the encoder; null without other servers.
  node_id text,
  -- The media sequence number and the number of discontinuities with which the next broadcast begins.
  next_sequence bigint not null default 0,
  next_discontinuity bigint not null default 0
);
create index live_stream_newest on live_stream (environment_id, created_at desc, seq desc);
-- Broadcasts that a stopped server has left.
create index live_stream_broadcast on live_stream (id) where active_asset_id is not null or connected;
-- For `on delete set null`.
create index live_stream_active_asset on live_stream (active_asset_id) where active_asset_id is not null;

create table simulcast_target (
  id text primary key,
  seq bigint generated always as identity,
  live_stream_id text not null references live_stream on delete cascade,
  url text not null,
  stream_key text,
  passthrough text,
  status text not null default 'idle' check (status in ('idle', 'starting', 'broadcasting', 'errored')),
  error_severity text check (error_severity in ('normal', 'fatal'))
);
create index simulcast_target_of_live_stream on simulcast_target (live_stream_id, seq);

-- Each belongs to an asset or to a live stream. One table, so that a viewer's request needs one search.
alter table playback_id alter column asset_id drop not null;
alter table playback_id add column live_stream_id text references live_stream on delete cascade;
alter table playback_id add constraint playback_id_owner check (num_nonnulls(asset_id, live_stream_id) = 1);
create index playback_id_live_stream on playback_id (live_stream_id, seq) where live_stream_id is not null;

-- Not a reference: the asset keeps the ID when the live stream is deleted.
alter table asset add column live_stream_id text;
alter table asset add column is_live boolean not null default false;
alter table asset add column recording_times jsonb;
alter table deleted_asset add column live_stream_id text;
create index asset_live_stream on asset (live_stream_id, created_at desc, seq desc) where live_stream_id is not null;

create trigger announce_live_stream after insert or update or delete on live_stream
  for each row execute function announce_row('live_stream');

-- For what a live stream consists of. When the live stream itself is deleted, it is no longer found here.
create function announce_live_stream_part() returns trigger language plpgsql as $$
declare
  part record;
begin
  if tg_op = 'DELETE' then part := old; else part := new; end if;
  perform announce(environment_id, 'live_stream', 'updated', id) from live_stream where id = part.live_stream_id;
  return null;
end $$;

create trigger announce_live_playback_id after insert or update or delete on playback_id
  for each row execute function announce_live_stream_part();
create trigger announce_simulcast_target after insert or update or delete on simulcast_target
  for each row execute function announce_live_stream_part();

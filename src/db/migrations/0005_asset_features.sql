-- Clips, further tracks, renditions, masters and shots of an asset.

alter table asset
  -- The asset that a clip was made from.
  add column source_asset_id text,
  add column generate_shots boolean not null default false,
  -- Of the deprecated `mp4_support` as a whole.
  add column static_renditions_status text check (static_renditions_status in ('preparing', 'ready', 'errored')),
  add column master_status text check (master_status in ('preparing', 'ready', 'errored')),
  -- Of the order: a master that is ordered again is another file.
  add column master_id text,
  add column master_ready_at timestamptz(3);

-- Of a clip: the asset under whose name source, index and mezzanine are stored, and which part of it is shown.
alter table asset_media
  add column source_owner text,
  add column clip jsonb;

-- Whose stored files an asset needs beside its own. They stay as long as anything needs them, whatever becomes of their
-- owner, so this is no reference to its row.
create table source_use (
  asset_id text not null references asset on delete cascade,
  owner_id text not null,
  primary key (asset_id, owner_id)
);
create index source_use_owner on source_use (owner_id);

alter table track
  add column text_type text check (text_type in ('subtitles')),
  add column text_source text check (text_source in ('uploaded', 'embedded', 'generated_live', 'generated_live_final', 'generated_vod')),
  add column closed_captions boolean,
  add column passthrough text,
  add column error jsonb,
  -- Where its file comes from; absent for what is part of the main input.
  add column url text,
  -- Which version of the remote file the download has begun.
  add column source_validator text,
  -- Of the input that brings it; absent for tracks that were added later.
  add column input_position integer;

-- What the ingest of a further audio track found; apart because it is large.
create table track_media (
  track_id text primary key references track on delete cascade,
  -- The track under whose name the file and its index are stored: itself, or the one that a clip has it from.
  source_asset_id text not null,
  source_track_id text not null,
  crashes integer not null default 0,
  facts jsonb,
  -- The sound is read from the copy of the file in which its recordings are laid end to end.
  joined boolean not null default false,
  -- Of a clip: the file's time, in seconds, that is zero on the timeline of the asset that the clip is cut from.
  zero_seconds double precision,
  -- How the sound is cut (`media/plan.ts` AudioPlan); present when the track is ready.
  plan jsonb
);
create index track_media_source on track_media (source_track_id);

create table static_rendition (
  id text primary key,
  seq bigint generated always as identity,
  asset_id text not null references asset on delete cascade,
  created_at timestamptz(3) not null default now(),
  name text not null,
  ext text not null check (ext in ('mp4', 'm4a')),
  -- As requested; absent for the files of `mp4_support`.
  resolution text,
  status text not null default 'preparing' check (status in ('preparing', 'ready', 'skipped', 'errored')),
  progress double precision not null default 0,
  width integer,
  height integer,
  bitrate integer,
  size_bytes bigint,
  resolution_tier text,
  passthrough text,
  error jsonb,
  unique (asset_id, name)
);

create table shots (
  asset_id text primary key references asset on delete cascade,
  -- Shots that are ordered again after a deletion have other addresses.
  order_id text not null,
  created_at timestamptz(3) not null default now(),
  status text not null check (status in ('pending', 'completed', 'errored', 'skipped', 'deleted')),
  -- Start times in seconds, ascending, the first is 0.
  start_times jsonb,
  error jsonb
);

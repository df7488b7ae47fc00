-- Environments, access, assets and what playback needs of them. Times used for paging are timestamptz(3): a JavaScript Date
-- holds milliseconds, and a finer column would make a cursor skip rows. `seq` breaks ties within a millisecond.

create table installation (
  id uuid primary key,
  organization_name text not null,
  only_row boolean not null default true unique check (only_row)
);

create table environment (
  id text primary key,
  name text not null unique,
  type text not null check (type in ('development', 'production')),
  default_video_quality text not null default 'basic' check (default_video_quality in ('basic', 'plus', 'premium')),
  created_at timestamptz(3) not null default now()
);

create table access_token (
  -- A UUID where Kinora makes it; an operator may bring a name of his own.
  id text primary key,
  environment_id text not null references environment on delete cascade,
  name text not null,
  secret_hash text not null,
  permissions jsonb not null,
  created_at timestamptz(3) not null default now(),
  revoked_at timestamptz(3)
);

create table asset (
  id text primary key,
  seq bigint generated always as identity,
  environment_id text not null references environment on delete cascade,
  created_at timestamptz(3) not null default now(),
  status text not null default 'preparing' check (status in ('preparing', 'ready', 'errored')),
  progress_state text not null default 'ingesting',
  progress double precision not null default 0,
  ingest_type text not null,
  upload_id text,
  video_quality text not null,
  max_resolution_tier text not null,
  mp4_support text not null,
  master_access text not null,
  normalize_audio boolean not null,
  is_test boolean not null,
  passthrough text,
  meta jsonb,
  non_standard_input_reasons jsonb,
  error jsonb,
  duration_seconds double precision,
  aspect_ratio text,
  resolution_tier text,
  max_stored_resolution text,
  max_stored_frame_rate double precision,
  ready_at timestamptz(3)
);
create index asset_newest on asset (environment_id, created_at desc, seq desc);
create index asset_upload on asset (upload_id) where upload_id is not null;

create table asset_input (
  asset_id text not null references asset on delete cascade,
  position integer not null,
  settings jsonb not null,
  file jsonb,
  primary key (asset_id, position)
);

-- Apart from `asset` because it is large (a two-hour plan has some 2,000 boundaries) and lists never need it.
create table asset_media (
  asset_id text primary key references asset on delete cascade,
  -- Entity tag or date of the origin's file while it is being downloaded: a later run may only continue the same file.
  source_validator text,
  -- How often a media process died on this source: bounds the tries on a hostile file.
  crashes integer not null default 0,
  facts jsonb,
  plan jsonb
);

create table playback_id (
  id text primary key,
  seq bigint generated always as identity,
  asset_id text not null references asset on delete cascade,
  environment_id text not null references environment on delete cascade,
  policy text not null check (policy in ('public', 'signed', 'drm')),
  created_at timestamptz(3) not null default now()
);
create index playback_id_asset on playback_id (asset_id, seq);

create table track (
  id text primary key,
  seq bigint generated always as identity,
  asset_id text not null references asset on delete cascade,
  type text not null check (type in ('video', 'audio', 'text')),
  status text not null,
  is_primary boolean not null default false,
  name text,
  language_code text,
  duration_seconds double precision,
  max_width integer,
  max_height integer,
  max_frame_rate double precision,
  max_channels integer,
  max_channel_layout text
);
create index track_asset on track (asset_id, seq);

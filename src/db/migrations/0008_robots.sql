-- Directives, their runs and the jobs of workflows. Chapters of an asset.

alter table asset
  -- Ids of the directives that the creation request named.
  add column directives jsonb,
  -- `{ id, chapters: [{ start_time, title }] }`: what viewers can jump to.
  add column chapters jsonb;

create table directive (
  id text primary key,
  seq bigint generated always as identity,
  environment_id text not null references environment on delete cascade,
  created_at timestamptz(3) not null default now(),
  name text not null,
  resources jsonb not null,
  workflows jsonb not null,
  -- Kept while runs refer to it.
  deleted_at timestamptz(3)
);
create index directive_newest on directive (environment_id, seq desc) where deleted_at is null;

-- The asset is no reference: a run is readable for its 30 days, whatever becomes of the asset.
create table directive_run (
  id text primary key,
  seq bigint generated always as identity,
  internal_id uuid not null,
  directive_id text not null references directive on delete cascade,
  environment_id text not null references environment on delete cascade,
  asset_id text not null,
  status text not null default 'pending'
    check (status in ('pending', 'dispatching', 'running', 'waiting', 'completed', 'partial', 'errored')),
  started_at timestamptz(3) not null,
  completed_at timestamptz(3),
  -- Until when resources from outside are waited for; null before the asset is ready.
  deadline_at timestamptz(3),
  -- What became of each resource and each workflow so far, in the order of the directive.
  resources jsonb not null,
  nodes jsonb not null
);
create index directive_run_newest on directive_run (directive_id, seq desc);
create index directive_run_active on directive_run (asset_id) where completed_at is null;
create index directive_run_age on directive_run (started_at);

create table robots_job (
  id text primary key,
  seq bigint generated always as identity,
  internal_id uuid not null,
  environment_id text not null references environment on delete cascade,
  asset_id text not null,
  workflow text not null,
  status text not null default 'pending'
    check (status in ('pending', 'processing', 'completed', 'errored', 'cancelled')),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  parameters jsonb not null,
  passthrough text,
  directive_id text,
  run_id text,
  -- No worker has it: it goes on when a track or the shots of the asset have ended.
  waiting boolean not null default false,
  -- The track that the run chose for the job to read.
  input_track_id text,
  -- The track that the job makes, if it makes one: every attempt makes the same.
  new_track_id text not null,
  -- Versions of the prompts by name.
  prompts jsonb,
  outputs jsonb,
  -- Outputs that are signed addresses: file names by field.
  files jsonb,
  error jsonb
);
create index robots_job_newest on robots_job (environment_id, seq desc);
create index robots_job_asset on robots_job (asset_id, seq desc);
create index robots_job_age on robots_job (created_at);

-- How many seconds viewers were sent of each part of an asset (`media/engagement.ts`).
create table delivery_part (
  asset_id text not null references asset on delete cascade,
  part integer not null,
  seconds double precision not null,
  primary key (asset_id, part)
);

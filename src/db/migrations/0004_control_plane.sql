-- Direct uploads, events and webhooks, signed playback, delivery usage.

create table upload (
  id text primary key,
  seq bigint generated always as identity,
  environment_id text not null references environment on delete cascade,
  created_at timestamptz(3) not null default now(),
  status text not null default 'waiting'
    check (status in ('waiting', 'asset_created', 'cancelled', 'errored', 'timed_out')),
  timeout_seconds integer not null,
  expires_at timestamptz(3) not null,
  cors_origin text not null,
  -- As the client wrote them, old and new names alike.
  new_asset_settings jsonb not null,
  is_test boolean not null,
  -- The asset that the bytes will become: they are written below its name from the first one on.
  target_asset_id text not null,
  -- Size of the whole file, once a request has told it.
  total_bytes bigint,
  error jsonb
);
create index upload_newest on upload (environment_id, created_at desc, seq desc);
create index upload_deadline on upload (expires_at) where status = 'waiting';

create table event (
  id uuid primary key,
  seq bigint generated always as identity,
  environment_id text not null references environment on delete cascade,
  created_at timestamptz(3) not null,
  type text not null,
  object_type text not null,
  object_id text not null,
  -- The envelope exactly as it is sent: the same bytes on every attempt.
  body text not null
);
create index event_newest on event (environment_id, seq desc);
create index event_of_type on event (environment_id, type, seq desc);
create index event_of_object on event (environment_id, object_id, seq desc);
create index event_age on event (created_at);

create table webhook (
  id text primary key,
  seq bigint generated always as identity,
  environment_id text not null references environment on delete cascade,
  address text not null,
  enabled boolean not null default true,
  signing_secret text not null,
  -- Made by the configuration, which keeps it as it says.
  configured boolean not null default false,
  created_at timestamptz(3) not null default now()
);
-- By its digest: an address of 2048 characters can have more bytes than an index entry holds.
create unique index webhook_address on webhook (environment_id, md5(address));
create index webhook_newest on webhook (environment_id, seq desc);

create table webhook_delivery (
  id uuid primary key,
  seq bigint generated always as identity,
  webhook_id text not null references webhook on delete cascade,
  event_id uuid not null references event on delete cascade,
  -- Deliveries of one object go out in order of occurrence.
  object_id text not null,
  created_at timestamptz(3) not null,
  state text not null default 'pending' check (state in ('pending', 'succeeded', 'failed', 'stopped')),
  attempts integer not null default 0,
  next_attempt_at timestamptz(3) not null,
  finished_at timestamptz(3)
);
create index webhook_delivery_due on webhook_delivery (webhook_id, next_attempt_at, seq) where state = 'pending';
create index webhook_delivery_order on webhook_delivery (webhook_id, object_id, seq) where state = 'pending';
create index webhook_delivery_newest on webhook_delivery (webhook_id, seq desc);
create index webhook_delivery_event on webhook_delivery (event_id);

create table webhook_attempt (
  delivery_id uuid not null references webhook_delivery on delete cascade,
  number integer not null,
  address text not null,
  created_at timestamptz(3) not null,
  duration_ms integer not null,
  -- Absent when no answer came; `error` then says why.
  response_status integer,
  response_headers jsonb,
  -- The first KiB, for diagnostics.
  response_body text,
  error text,
  primary key (delivery_id, number)
);

create table signing_key (
  id text primary key,
  seq bigint generated always as identity,
  environment_id text not null references environment on delete cascade,
  created_at timestamptz(3) not null default now(),
  public_key text not null
);
create index signing_key_oldest on signing_key (environment_id, seq);

create table playback_restriction (
  id text primary key,
  seq bigint generated always as identity,
  environment_id text not null references environment on delete cascade,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  referrer jsonb not null,
  user_agent jsonb not null
);
create index playback_restriction_newest on playback_restriction (environment_id, created_at desc, seq desc);

create table transcription_vocabulary (
  id text primary key,
  seq bigint generated always as identity,
  environment_id text not null references environment on delete cascade,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  name text,
  phrases jsonb not null,
  passthrough text
);
create index transcription_vocabulary_newest on transcription_vocabulary (environment_id, created_at desc, seq desc);

-- Delivered seconds and bytes, summed for each minute. The asset's properties are copied because usage outlives it.
create table delivery_usage (
  environment_id text not null references environment on delete cascade,
  asset_id text not null,
  minute timestamptz(3) not null,
  tier text not null,
  delivered_seconds double precision not null,
  delivered_bytes bigint not null,
  primary key (environment_id, asset_id, minute, tier)
);
create index delivery_usage_minute on delivery_usage (environment_id, minute);

-- What usage reports say of an asset after its deletion.
create table deleted_asset (
  id text primary key,
  environment_id text not null references environment on delete cascade,
  created_at timestamptz(3) not null,
  deleted_at timestamptz(3) not null,
  duration_seconds double precision,
  resolution_tier text,
  video_quality text not null,
  passthrough text
);
create index deleted_asset_age on deleted_asset (deleted_at);

-- Key of everything that this installation signs for itself: upload addresses, child addresses of signed playback.
alter table installation
  add column secret text not null default replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');

alter table asset add column thumbnail_time double precision;

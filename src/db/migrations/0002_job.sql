-- Background work. A run of a job is fenced by `lease_id`: every change of an active row names the lease that it belongs to,
-- so that a worker that lost its lease can no longer end the job. `run_at` is finer than a millisecond on purpose:
-- timestamptz(3) would round it up to half a millisecond into the future.

create table job (
  id uuid primary key default gen_random_uuid(),
  seq bigint generated always as identity,
  queue text not null,
  key text,
  payload jsonb not null,
  state text not null default 'queued' check (state in ('queued', 'active', 'done', 'failed', 'cancelled')),
  priority integer not null default 0,
  run_at timestamptz not null default now(),
  attempt integer not null default 0,
  max_attempts integer not null,
  -- All tries are used up, but the work that belongs to the failure has not been done yet.
  failing boolean not null default false,
  cancel boolean not null default false,
  worker text,
  lease_id uuid,
  lease_until timestamptz,
  error jsonb,
  created_at timestamptz not null default now(),
  finished_at timestamptz
);
create index job_next on job (queue, priority desc, run_at, seq) where state = 'queued';
create index job_lease on job (lease_until) where state = 'active';
create index job_finished on job (finished_at) where finished_at is not null;
-- A job that is being cancelled gives its key free at once, but its successor waits for its end (`claimJob`).
create unique index job_key on job (queue, key) where key is not null and state in ('queued', 'active') and not cancel;
create index job_ending on job (queue, key) where state = 'active' and cancel;

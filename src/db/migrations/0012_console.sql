-- Browsers sign in to the console with a link that works once, or with an access token, and then hold a session.

-- Absent for tokens that do not expire.
alter table access_token add column expires_at timestamptz(3);

create table console_link (
  -- SHA-256 of the code in the URL.
  code_hash text primary key,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
);

create table console_session (
  -- SHA-256 of the cookie.
  secret_hash text primary key,
  -- Absent for sessions of a link, which administer the server.
  token_id text references access_token on delete cascade,
  environment_id text not null references environment on delete cascade,
  created_at timestamptz(3) not null,
  -- Up to a minute old.
  last_used_at timestamptz(3) not null,
  ends_at timestamptz(3) not null
);

-- One for each order and filter of the console's list, which the public list does not have.
create index asset_status on asset (environment_id, status, created_at desc, seq desc);
create index asset_duration on asset (environment_id, coalesce(duration_seconds, -1), seq);
-- The beginning only: an index entry has a limited size.
create index asset_title on asset (environment_id, left(lower(meta ->> 'title'), 100), seq);

-- Servers that share this database and a bucket.
-- needs 0014

create table node (
  id text primary key,
  -- Where the other servers reach it.
  internal_url text not null,
  roles text[] not null,
  -- The generation of segments that it makes.
  generation integer not null,
  -- The assets that play there before they are ready, and the playback IDs of such uploads.
  early text[] not null default '{}',
  -- It is stopping: it still answers, but should get nothing new.
  draining boolean not null default false,
  started_at timestamptz(3) not null default now(),
  seen_at timestamptz(3) not null default now()
);

-- Work that only one server may do at a time.
create table node_lease (
  name text primary key,
  node_id text not null,
  until timestamptz(3) not null
);

-- Where the blobs are: a server with another place would not find them.
alter table installation add column blobs text;

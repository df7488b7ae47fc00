-- DRM: where the keys of assets come from, the keys themselves, and which playback ids use them.

create table drm_configuration (
  id text primary key,
  seq bigint generated always as identity,
  environment_id text not null references environment on delete cascade,
  created_at timestamptz(3) not null default now(),
  name text not null,
  key_source text not null check (key_source in ('local', 'static', 'cpix')),
  -- Encrypted as a whole: it holds keys, and even the URLs of key services may carry credentials.
  settings text not null
);
create index drm_configuration_newest on drm_configuration (environment_id, created_at desc, seq desc);

-- The keys of an asset never change: players may hold its segments and licenses.
create table content_key (
  drm_configuration_id text not null references drm_configuration on delete cascade,
  asset_id text not null references asset on delete cascade,
  track text not null check (track in ('video', 'audio')),
  kid uuid not null,
  -- Key and initialization vector, encrypted.
  secrets text not null,
  -- What players are told of the key, by key system.
  systems jsonb not null,
  primary key (drm_configuration_id, asset_id, track)
);
create index content_key_asset on content_key (asset_id);

alter table playback_id add column drm_configuration_id text references drm_configuration;
alter table playback_id add constraint playback_id_drm check ((policy = 'drm') = (drm_configuration_id is not null));
create index playback_id_drm_configuration on playback_id (drm_configuration_id) where drm_configuration_id is not null;

-- Assets that are moved here from another server. A row outlives its asset, so that a deleted asset isn't moved again.

create table import_asset (
  asset_id text primary key,
  environment_id text not null references environment on delete cascade,
  source_url text not null,
  state text not null check (state in ('prepared', 'started', 'done', 'failed')),
  -- What the import changed at the source and must undo there.
  borrowed jsonb,
  -- The IDs of the tracks of the main file, which exist when it is ingested.
  main_tracks jsonb,
  updated_at timestamptz(3) not null
);
create index import_asset_borrowed on import_asset (source_url) where borrowed is not null;

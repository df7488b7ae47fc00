-- Whether an asset could be played before its file was stored, and if not, why. An upload passes it to its asset.
alter table asset_input add column early_playback jsonb;
alter table upload add column early_playback jsonb;

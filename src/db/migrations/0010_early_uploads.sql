-- Playback IDs under which an upload plays before it is complete; its asset gets the same ones.
alter table upload add column early_playback_ids jsonb;

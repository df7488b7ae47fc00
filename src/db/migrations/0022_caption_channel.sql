-- The channel of CEA-608 in the video that a text track is read from; null for other tracks.
alter table track add column caption_channel text check (caption_channel in ('cc1', 'cc2', 'cc3', 'cc4'));

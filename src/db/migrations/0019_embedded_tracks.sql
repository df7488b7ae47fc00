-- The stream of the main file that a track comes from; null for tracks with files of their own.
alter table track add column stream_index integer;

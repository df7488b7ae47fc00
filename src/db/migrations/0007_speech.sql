-- Subtitles that speech recognition makes.

alter table track
  -- The audio track that they are made from; absent for all other tracks. No reference: it may be deleted meanwhile.
  add column audio_track_id text,
  -- How sure the recognizer is of a language that it was asked to detect.
  add column language_confidence double precision,
  -- Per cent of the recognition.
  add column progress double precision;

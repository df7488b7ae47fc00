-- The message of the warning that frames of an asset were lost, which is given once; null when none were.
-- needs 0014

alter table asset add column frames_lost text;

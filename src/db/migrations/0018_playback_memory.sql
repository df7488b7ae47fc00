-- What servers keep in memory is announced when it changes, and usage is stored by the hour and by the day when it is older.
-- needs 0014

create trigger announce_signing_key after update or delete on signing_key
  for each row execute function announce_row('signing_key');
create trigger announce_playback_restriction after update or delete on playback_restriction
  for each row execute function announce_row('playback_restriction');

-- What one row covers, from `minute` on: 1, 60 or 1440 minutes.
alter table delivery_usage add column minutes smallint not null default 1;
-- Finds what is to be summed up, in any environment, oldest first.
create index delivery_usage_span on delivery_usage (minutes, minute);

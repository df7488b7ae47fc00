-- What the console shows of failures, and announcements of every change that it displays.

-- The request that created the asset or the upload.
alter table asset add column request_id text;
alter table upload add column request_id text;

create table asset_failure (
  asset_id text primary key references asset on delete cascade,
  occurred_at timestamptz(3) not null,
  -- The step of the ingest that failed.
  stage text not null check (stage in ('download', 'probe', 'plan', 'segments')),
  job_id text not null,
  -- For the operator: the causes of the error.
  detail text not null
);

-- Each commit announces what it changed: environment (empty for jobs), kind, type of change, ID, ID of the asset of a job. The
-- payload of equal announcements of one transaction is delivered once. Triggers see every change, whoever makes it.
create function announce(environment text, kind text, change text, id text, asset_id text default null)
returns void language sql as $$
  select pg_notify('kinora_change', json_build_array(environment, kind, change, id, asset_id)::text)
$$;

create function change_name(operation text) returns text language sql immutable as $$
  select case operation when 'INSERT' then 'created' when 'UPDATE' then 'updated' else 'deleted' end
$$;

-- For tables with an ID and an environment; the argument is the kind.
create function announce_row() returns trigger language plpgsql as $$
declare
  changed record;
begin
  if tg_op = 'DELETE' then changed := old; else changed := new; end if;
  perform announce(changed.environment_id, tg_argv[0], change_name(tg_op), changed.id);
  return null;
end $$;

create trigger announce_asset after insert or update or delete on asset
  for each row execute function announce_row('asset');
create trigger announce_upload after insert or update or delete on upload
  for each row execute function announce_row('upload');
create trigger announce_webhook after insert or update or delete on webhook
  for each row execute function announce_row('webhook');

-- For what an asset consists of. When the asset itself is deleted, it is no longer found here.
create function announce_asset_part() returns trigger language plpgsql as $$
declare
  part record;
begin
  if tg_op = 'DELETE' then part := old; else part := new; end if;
  perform announce(environment_id, 'asset', 'updated', id) from asset where id = part.asset_id;
  return null;
end $$;

create trigger announce_playback_id after insert or update or delete on playback_id
  for each row execute function announce_asset_part();
create trigger announce_track after insert or update or delete on track
  for each row execute function announce_asset_part();
create trigger announce_static_rendition after insert or update or delete on static_rendition
  for each row execute function announce_asset_part();
create trigger announce_shots after insert or update or delete on shots
  for each row execute function announce_asset_part();

create function announce_delivery() returns trigger language plpgsql as $$
begin
  perform announce(environment_id, 'webhook', 'delivery', id) from webhook where id = new.webhook_id;
  return null;
end $$;

create trigger announce_delivery after insert or update on webhook_delivery
  for each row execute function announce_delivery();

create function announce_event() returns trigger language plpgsql as $$
begin
  perform announce(new.environment_id, 'event', new.type, new.id::text);
  return null;
end $$;

create trigger announce_event after insert on event for each row execute function announce_event();

create function announce_job() returns trigger language plpgsql as $$
begin
  perform announce('', 'job', new.state, new.id::text, new.payload ->> 'assetId');
  return null;
end $$;

create trigger announce_job after insert on job for each row execute function announce_job();
-- Renewed leases are no news.
create trigger announce_job_change after update on job for each row
  when (old.state is distinct from new.state or old.run_at is distinct from new.run_at)
  execute function announce_job();

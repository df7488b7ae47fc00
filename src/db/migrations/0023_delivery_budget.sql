-- Budgets of delivery, and the playback restriction of public playback IDs.
-- needs 0022

create table delivery_budget (
  id text primary key,
  seq bigint generated always as identity,
  environment_id text not null references environment on delete cascade,
  -- Null for everything that the environment delivers.
  asset_id text references asset on delete cascade,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  period text not null check (period in ('day', 'month')),
  unit text not null check (unit in ('bytes', 'seconds')),
  amount bigint not null check (amount > 0),
  action text not null check (action in ('notify', 'step_down', 'stop')),
  -- What was delivered in the period (UTC) that begins at this time; of a later one, nothing yet.
  period_start timestamptz(3) not null,
  delivered_bytes bigint not null,
  delivered_seconds double precision not null,
  -- The last threshold of that period, in percent, whose event was recorded.
  reported smallint not null default 0 check (reported in (0, 80, 100))
);
create unique index delivery_budget_of on delivery_budget (environment_id, coalesce(asset_id, ''), period);
create index delivery_budget_asset on delivery_budget (asset_id) where asset_id is not null;

create function budget_share(unit text, amount bigint, bytes bigint, seconds double precision)
returns double precision language sql immutable as $$
  select (case unit when 'bytes' then bytes else seconds end) / amount
$$;

create trigger announce_delivery_budget after insert or delete on delivery_budget
  for each row execute function announce_row('delivery_budget');
-- What is delivered is no news until it reaches a threshold.
create trigger announce_delivery_budget_change after update on delivery_budget for each row
  when (
    old.updated_at is distinct from new.updated_at or old.reported is distinct from new.reported
    or (budget_share(old.unit, old.amount, old.delivered_bytes, old.delivered_seconds) >= 0.8)
      is distinct from (budget_share(new.unit, new.amount, new.delivered_bytes, new.delivered_seconds) >= 0.8)
    or (budget_share(old.unit, old.amount, old.delivered_bytes, old.delivered_seconds) >= 1)
      is distinct from (budget_share(new.unit, new.amount, new.delivered_bytes, new.delivered_seconds) >= 1)
  )
  execute function announce_row('delivery_budget');

-- Applies to all public playback IDs of the environment.
alter table environment add column public_restriction_id text references playback_restriction;

create function announce_public_restriction() returns trigger language plpgsql as $$
begin
  perform announce(new.id, 'public_playback', 'updated', new.id);
  return null;
end $$;

create trigger announce_public_restriction after update on environment for each row
  when (old.public_restriction_id is distinct from new.public_restriction_id)
  execute function announce_public_restriction();

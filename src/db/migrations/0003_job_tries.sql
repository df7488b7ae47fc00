-- Of the runs that `attempt` counts: those that ended because something outside was missing (room, a process, the database)
-- and those whose worker was lost. Only the rest are the job's own failures, which `max_attempts` limits.

alter table job
  add column retries integer not null default 0,
  add column losses integer not null default 0;

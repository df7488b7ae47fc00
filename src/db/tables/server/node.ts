import { sql } from 'kysely';
import type { Queryable } from '../../database.js';
import type { Row } from '../../schema.js';

export type NodeRow = Pick<Row<'node'>, 'id' | 'internal_url' | 'roles' | 'generation' | 'early' | 'draining'>;

/**
 * Says that a server runs, removes those that have not been seen for an hour, and returns the
 * others that were seen within `liveSeconds`, the latest first: one that was killed and started
 * again comes before its former self. Only the clock of the database counts.
 */
export const beat = async (db: Queryable, node: NodeRow, liveSeconds: number): Promise<NodeRow[]> => {
  const { rows } = await sql<NodeRow>`
    with beat as (
      insert into node (id, internal_url, roles, generation, early, draining)
      values (${node.id}, ${node.internal_url}, ${node.roles}, ${node.generation}, ${node.early}, ${node.draining})
      on conflict (id) do update set seen_at = now(), early = excluded.early, draining = excluded.draining
    ), gone as (
      delete from node where seen_at < now() - interval '1 hour'
    )
    select id, internal_url, roles, generation, early, draining from node
    where id <> ${node.id} and seen_at > now() - make_interval(secs => ${liveSeconds})
    order by node.seen_at desc`.execute(db);
  return rows;
};

/** Whether a server was seen within `liveSeconds`. */
export const hasLiveNode = async (db: Queryable, liveSeconds: number): Promise<boolean> => {
  const { rows } = await sql`
    select from node where seen_at > now() - make_interval(secs => ${liveSeconds}) limit 1`.execute(db);
  return rows.length > 0;
};

export const deleteNode = async (db: Queryable, id: string): Promise<void> => {
  await db.deleteFrom('node').where('id', '=', id).execute();
};

/**
 * Takes a lease, or renews that of the same holder; false while another one has it. Only the clock
 * of the database counts.
 */
export const takeLease = async (
  db: Queryable,
  { name, holder, seconds }: { readonly name: string; readonly holder: string; readonly seconds: number },
): Promise<boolean> => {
  const { rows } = await sql`
    insert into node_lease (name, node_id, until)
    values (${name}, ${holder}, now() + make_interval(secs => ${seconds}))
    on conflict (name) do update set node_id = excluded.node_id, until = excluded.until
    where node_lease.node_id = excluded.node_id or node_lease.until < now()
    returning name`.execute(db);
  return rows.length > 0;
};

/** Whether anyone has this lease. */
export const isLeased = async (db: Queryable, name: string): Promise<boolean> => {
  const { rows } = await sql`select from node_lease where name = ${name} and until > now()`.execute(db);
  return rows.length > 0;
};

/** Gives a lease back, unless another holder has it. */
export const releaseLease = async (
  db: Queryable,
  { name, holder }: { readonly name: string; readonly holder: string },
): Promise<void> => {
  await db.deleteFrom('node_lease').where('name', '=', name).where('node_id', '=', holder).execute();
};

/** The clock of the database, in whole milliseconds since 1970. */
export const readDatabaseMs = async (db: Queryable): Promise<number> => {
  const { rows } = await sql<{ ms: number }>`
    select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(db);
  return rows[0]!.ms;
};

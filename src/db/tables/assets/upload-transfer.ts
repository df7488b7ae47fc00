import { sql } from 'kysely';
import type { Queryable } from '../../database.js';
import type { Row, TransferPart, TransferTail } from '../../schema.js';

/** NOTIFY channel: the payload is a `TransferCall`. */
export const TRANSFER_CALLS = 'kinora_upload';

/** Tells servers that they must let go of an upload. */
export interface TransferCall {
  readonly uploadId: string;
  /** The server that takes the upload over; absent when the upload has ended. */
  readonly takenBy?: string;
}

/** A server that dies is noticed after this at the latest. */
const LEASE = sql`interval '15 seconds'`;
const now = sql<Date>`clock_timestamp()`;
const leaseEnd = sql<Date>`clock_timestamp() + ${LEASE}`;

export interface TransferTaker {
  readonly holder: string;
  readonly token: string;
  /** Takes it from a holder that gets no bytes for this long. */
  readonly silentMs?: number;
}

/** Takes the lease; undefined while another server has it. */
export const takeTransfer = async (
  db: Queryable,
  uploadId: string,
  { holder, token, silentMs }: TransferTaker,
): Promise<Row<'upload_transfer'> | undefined> => {
  const lease = { lease_holder: holder, lease_token: token, lease_until: leaseEnd, renewed_at: now };
  const silent = sql<boolean>`upload_transfer.renewed_at < clock_timestamp() - ${silentMs ?? 0} * interval '1 ms'`;
  return db
    .insertInto('upload_transfer')
    .values({ upload_id: uploadId, ...lease, parts: '[]', tails: '[]' })
    .onConflict((conflict) =>
      conflict
        .column('upload_id')
        .doUpdateSet(lease)
        .where((where) =>
          where.or([
            where('upload_transfer.lease_token', 'is', null),
            where('upload_transfer.lease_until', '<', now),
            ...(silentMs === undefined ? [] : [silent]),
          ]),
        ),
    )
    .returningAll()
    .executeTakeFirst();
};

/** The holder of a valid lease, and whether it has been silent for `silentMs`. */
export const findTransferHolder = (
  db: Queryable,
  uploadId: string,
  silentMs: number,
): Promise<{ lease_holder: string | null; isSilent: boolean } | undefined> =>
  db
    .selectFrom('upload_transfer')
    .select('lease_holder')
    .select(sql<boolean>`renewed_at < clock_timestamp() - ${silentMs} * interval '1 ms'`.as('isSilent'))
    .where('upload_id', '=', uploadId)
    .where('lease_token', 'is not', null)
    .where('lease_until', '>=', now)
    .executeTakeFirst();

export interface TransferChange {
  readonly multipartId: string | null;
  readonly partBytes: number | null;
  readonly parts: readonly TransferPart[];
  readonly reservedParts: number;
  readonly tails: readonly TransferTail[];
  readonly receivedBytes: number;
}

const heldBy = (db: Queryable, uploadId: string, token: string) =>
  db.updateTable('upload_transfer').where('upload_id', '=', uploadId).where('lease_token', '=', token);

/**
 * Returns false, and changes nothing, when another server has the lease; so do the functions below.
 */
export const saveTransfer = async (
  db: Queryable,
  uploadId: string,
  token: string,
  { multipartId, partBytes, parts, reservedParts, tails, receivedBytes }: TransferChange,
): Promise<boolean> => {
  const { numUpdatedRows } = await heldBy(db, uploadId, token)
    .set({
      multipart_id: multipartId,
      part_bytes: partBytes,
      reserved_parts: reservedParts,
      received_bytes: receivedBytes,
      parts: JSON.stringify(parts),
      tails: JSON.stringify(tails),
      saved_by: token,
      lease_until: leaseEnd,
      renewed_at: now,
    })
    .executeTakeFirst();
  return numUpdatedRows > 0n;
};

export const renewTransfer = async (db: Queryable, uploadId: string, token: string): Promise<boolean> => {
  const { numUpdatedRows } = await heldBy(db, uploadId, token)
    .set({ lease_until: leaseEnd, renewed_at: now })
    .executeTakeFirst();
  return numUpdatedRows > 0n;
};

export const releaseTransfer = async (db: Queryable, uploadId: string, token: string): Promise<void> => {
  await heldBy(db, uploadId, token)
    .set({ lease_holder: null, lease_token: null, lease_until: null, renewed_at: null })
    .execute();
};

/** What the store had of the upload is removed. */
export const deleteTransfer = async (db: Queryable, uploadId: string): Promise<void> => {
  await db.deleteFrom('upload_transfer').where('upload_id', '=', uploadId).execute();
};

/** The transfers of uploads that have ended, of which the store may still have parts and tails. */
export const listEndedTransfers = (db: Queryable): Promise<{ upload_id: string; target_asset_id: string }[]> =>
  db
    .selectFrom('upload_transfer')
    .innerJoin('upload', 'upload.id', 'upload_transfer.upload_id')
    .select(['upload_transfer.upload_id', 'upload.target_asset_id'])
    .where('upload.status', '!=', 'waiting')
    .where((where) => where.or([where('lease_until', 'is', null), where('lease_until', '<', now)]))
    .execute();

/** Sends the call to every server, this one included. */
export const callTransfers = async (db: Queryable, call: TransferCall): Promise<void> => {
  await sql`select pg_notify(${TRANSFER_CALLS}, ${JSON.stringify(call)})`.execute(db);
};

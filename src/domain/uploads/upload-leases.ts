import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import {
  callTransfers,
  deleteTransfer,
  findTransferHolder,
  releaseTransfer,
  renewTransfer,
  saveTransfer,
  TRANSFER_CALLS,
  type TransferCall,
  takeTransfer,
} from '../../db/tables/assets/upload-transfer.js';
import { KinoraError } from '../../lib/errors.js';
import { newId } from '../../lib/ids.js';
import { asUnavailable } from '../../lib/unavailable.js';
import type { WriteJournal } from '../../storage/blob-store.js';
import { SILENT_MS } from './writer-places.js';

/** The right to receive one upload, for one request. */
export interface UploadLease extends WriteJournal {
  /** Aborted with the reason when another server takes over or the upload has ended. */
  readonly signal: AbortSignal;
  /** Bytes have arrived: the lease is renewed within a second. */
  touch(): void;
  /** Renews the lease while `work` runs. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Removes the record of an upload that has ended. What fails is left to the sweep. */
  forget(): Promise<void>;
  /** Never fails: a lease that the database does not take back ends by itself. */
  release(): Promise<void>;
}

/** Allows one server per upload. The row decides who holds the lease; NOTIFY only speeds up the hand-over. */
export interface UploadLeases {
  /**
   * Asks a silent holder to let go, and then takes over.
   * @throws KinoraError `upload_busy` while another server receives bytes
   */
  take(uploadId: string): Promise<UploadLease>;
  /** Undefined while another server has the lease. */
  takeIfFree(uploadId: string): Promise<UploadLease | undefined>;
  isHeld(uploadId: string): Promise<boolean>;
  /** Tells the holder that the upload has ended. */
  end(uploadId: string): Promise<void>;
  /** @param onElsewhere called when another server has taken an upload over, or it has ended */
  start(onElsewhere: (uploadId: string) => void): Promise<void>;
  stop(): Promise<void>;
}

const RENEW_MS = 1000;
/** A silent holder that runs has this long to store what it has. */
const LET_GO_MS = 1500;
const LOOK_MS = 100;

const busy = (): KinoraError => new KinoraError('upload_busy');

export const createUploadLeases = ({ database }: { readonly database: Database }): UploadLeases => {
  const db = database.queryable;
  const holder = newId();
  const held = new Map<string, AbortController>();
  let stopListening: (() => Promise<void>) | undefined;

  const attempt = async (uploadId: string, silentMs?: number): Promise<UploadLease | undefined> => {
    const token = `${holder}.${newId()}`;
    const row = await takeTransfer(db, uploadId, { holder, token, ...(silentMs !== undefined && { silentMs }) });
    if (!row) return undefined;
    const controller = new AbortController();
    held.set(uploadId, controller);
    const lease = openLease(database, row, controller, () => {
      if (held.get(uploadId) === controller) held.delete(uploadId);
    });
    try {
      // What that server still has of it, for viewers, is not continued.
      if (row.saved_by && !row.saved_by.startsWith(`${holder}.`))
        await callTransfers(db, { uploadId, takenBy: holder });
    } catch (error) {
      await lease.release();
      throw error;
    }
    return lease;
  };

  return {
    take: async (uploadId) => {
      const free = await attempt(uploadId);
      if (free) return free;
      const other = await findTransferHolder(db, uploadId, SILENT_MS);
      if (other && !other.isSilent) throw busy();
      if (other) await callTransfers(db, { uploadId, takenBy: holder });
      for (let waitedMs = 0; waitedMs < LET_GO_MS; waitedMs += LOOK_MS) {
        await pause(LOOK_MS);
        const released = await attempt(uploadId);
        if (released) return released;
      }
      const taken = await attempt(uploadId, SILENT_MS);
      if (!taken) throw busy();
      return taken;
    },
    takeIfFree: (uploadId) => attempt(uploadId),
    isHeld: async (uploadId) => (await findTransferHolder(db, uploadId, SILENT_MS)) !== undefined,
    end: (uploadId) => callTransfers(db, { uploadId }),
    start: async (onElsewhere) => {
      stopListening = await database.listen(TRANSFER_CALLS, (payload) => {
        const { uploadId, takenBy } = JSON.parse(payload) as TransferCall;
        if (takenBy === holder) return;
        held.get(uploadId)?.abort(takenBy === undefined ? new KinoraError('gone') : busy());
        onElsewhere(uploadId);
      });
    },
    stop: async () => {
      await stopListening?.();
    },
  };
};

const openLease = (
  database: Database,
  row: Row<'upload_transfer'>,
  controller: AbortController,
  onEnd: () => void,
): UploadLease => {
  const db = database.queryable;
  const { upload_id: uploadId, lease_token } = row;
  const token = lease_token!;
  let touched = false;
  let working = 0;
  let isRenewing = false;

  const lost = (): KinoraError => {
    const error = busy();
    controller.abort(error);
    return error;
  };
  const renew = async (): Promise<void> => {
    if (isRenewing || !(touched || working > 0)) return;
    touched = false;
    isRenewing = true;
    try {
      if (!(await renewTransfer(db, uploadId, token))) lost();
    } catch {
      // The next one may succeed. What is saved is checked anyway.
    } finally {
      isRenewing = false;
    }
  };
  const timer = setInterval(() => void renew(), RENEW_MS);
  timer.unref();
  const end = (): void => {
    clearInterval(timer);
    onEnd();
  };

  return {
    token,
    signal: controller.signal,
    state: {
      multipartId: row.multipart_id,
      partBytes: row.part_bytes,
      parts: row.parts,
      reservedParts: row.reserved_parts,
      tails: row.tails,
      receivedBytes: row.received_bytes,
      savedBy: row.saved_by,
    },
    save: async (state) => {
      const saved = await saveTransfer(db, uploadId, token, state).catch((cause: unknown) => {
        throw asUnavailable(cause);
      });
      if (!saved) throw lost();
    },
    touch: () => {
      touched = true;
    },
    during: async (work) => {
      working += 1;
      try {
        return await work();
      } finally {
        working -= 1;
      }
    },
    forget: async () => {
      end();
      await deleteTransfer(db, uploadId).catch(() => undefined);
    },
    release: async () => {
      end();
      await releaseTransfer(db, uploadId, token).catch(() => undefined);
    },
  };
};

import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../db/database.js';
import type { Row } from '../db/schema.js';
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
} from '../db/tables/assets/upload-transfer.js';
import { KinoraError } from '../lib/errors.js';
import { newId } from '../lib/ids.js';
import { asUnavailable } from '../lib/unavailable.js';
import type { SharedState, WriteJournal } from '../storage/blob-store.js';
import { SILENT_MS } from './upload-slots.js';

const RENEW_MS = 1000;
/** A silent holder that runs has this long to store what it has. */
const RELEASE_MS = 1500;
const RETRY_MS = 100;

const busy = (): KinoraError => new KinoraError('upload_busy');

/**
 * Allows one server per upload. The row decides who holds the lease; NOTIFY only speeds up the
 * hand-over.
 */
export class UploadLeases {
  private readonly holder = newId();
  private readonly held = new Map<string, AbortController>();
  private stopListening: (() => Promise<void>) | undefined;

  constructor(private readonly database: Database) {}

  /**
   * Asks a silent holder to release its lease, and then takes over.
   * @throws KinoraError `upload_busy` while another server receives bytes
   */
  async take(uploadId: string): Promise<UploadLease> {
    const free = await this.takeIfFree(uploadId);
    if (free) return free;
    const other = await findTransferHolder(this.database.queryable, uploadId, SILENT_MS);
    if (other && !other.isSilent) throw busy();
    if (other) await this.callHolder(uploadId);
    for (let waitedMs = 0; waitedMs < RELEASE_MS; waitedMs += RETRY_MS) {
      await pause(RETRY_MS);
      const released = await this.takeIfFree(uploadId);
      if (released) return released;
    }
    const taken = await this.attempt(uploadId, SILENT_MS);
    if (!taken) throw busy();
    return taken;
  }

  /** Undefined while another server has the lease. */
  takeIfFree(uploadId: string): Promise<UploadLease | undefined> {
    return this.attempt(uploadId);
  }

  async isHeld(uploadId: string): Promise<boolean> {
    return (await findTransferHolder(this.database.queryable, uploadId, SILENT_MS)) !== undefined;
  }

  /** Tells the holder that the upload has ended. */
  async end(uploadId: string): Promise<void> {
    await callTransfers(this.database.queryable, { uploadId });
  }

  /** @param onTakenOver called when another server has taken an upload over, or it has ended */
  async start(onTakenOver: (uploadId: string) => void): Promise<void> {
    this.stopListening = await this.database.listen(TRANSFER_CALLS, (payload) => {
      const { uploadId, takenBy } = JSON.parse(payload) as TransferCall;
      if (takenBy === this.holder) return;
      this.held.get(uploadId)?.abort(takenBy === undefined ? new KinoraError('gone') : busy());
      onTakenOver(uploadId);
    });
  }

  async stop(): Promise<void> {
    await this.stopListening?.();
  }

  private async attempt(uploadId: string, silentMs?: number): Promise<UploadLease | undefined> {
    const { holder, held, database } = this;
    const token = `${holder}.${newId()}`;
    const row = await takeTransfer(database.queryable, uploadId, { holder, token, silentMs });
    if (!row) return undefined;
    const controller = new AbortController();
    held.set(uploadId, controller);
    const lease = new UploadLease(database, row, controller, () => {
      if (held.get(uploadId) === controller) held.delete(uploadId);
    });
    try {
      // What that server still has of it, for viewers, is not continued.
      if (row.saved_by && !row.saved_by.startsWith(`${holder}.`)) await this.callHolder(uploadId);
    } catch (error) {
      await lease.release();
      throw error;
    }
    return lease;
  }

  private async callHolder(uploadId: string): Promise<void> {
    await callTransfers(this.database.queryable, { uploadId, takenBy: this.holder });
  }
}

/** The right to receive one upload, for one request. */
export class UploadLease implements WriteJournal {
  readonly token: string;
  readonly state: WriteJournal['state'];
  private isTouched = false;
  private running = 0;
  private isRenewing = false;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly database: Database,
    private readonly row: Row<'upload_transfer'>,
    private readonly controller: AbortController,
    private readonly onEnd: () => void,
  ) {
    this.token = row.lease_token!;
    this.state = {
      multipartId: row.multipart_id,
      partBytes: row.part_bytes,
      parts: row.parts,
      reservedParts: row.reserved_parts,
      tails: row.tails,
      receivedBytes: row.received_bytes,
      savedBy: row.saved_by,
    };
    this.timer = setInterval(() => void this.renew(), RENEW_MS).unref();
  }

  /** Aborted with the reason when another server takes over or the upload has ended. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Bytes have arrived: the lease is renewed within a second. */
  touch(): void {
    this.isTouched = true;
  }

  /** Renews the lease while `task` runs. */
  async during<T>(task: () => Promise<T>): Promise<T> {
    this.running += 1;
    try {
      return await task();
    } finally {
      this.running -= 1;
    }
  }

  async save(state: SharedState): Promise<void> {
    const { database, row, token } = this;
    const isSaved = await saveTransfer(database.queryable, row.upload_id, token, state).catch((cause: unknown) => {
      throw asUnavailable(cause);
    });
    if (!isSaved) throw this.lose();
  }

  /** Removes the record of an upload that has ended. What fails is left to the sweep. */
  async forget(): Promise<void> {
    this.end();
    await deleteTransfer(this.database.queryable, this.row.upload_id).catch(() => undefined);
  }

  /** Never fails: a lease that the database does not take back ends by itself. */
  async release(): Promise<void> {
    this.end();
    await releaseTransfer(this.database.queryable, this.row.upload_id, this.token).catch(() => undefined);
  }

  private async renew(): Promise<void> {
    if (this.isRenewing || !(this.isTouched || this.running > 0)) return;
    this.isTouched = false;
    this.isRenewing = true;
    try {
      if (!(await renewTransfer(this.database.queryable, this.row.upload_id, this.token))) this.lose();
    } catch {
      // The next one may succeed. What is saved is checked anyway.
    } finally {
      this.isRenewing = false;
    }
  }

  private lose(): KinoraError {
    const error = busy();
    this.controller.abort(error);
    return error;
  }

  private end(): void {
    clearInterval(this.timer);
    this.onEnd();
  }
}

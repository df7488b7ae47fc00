import type { Row } from '../db/schema.js';
import { findUploadById } from '../db/tables/assets/upload.js';
import { KinoraError } from '../lib/errors.js';
import type { BlobStore } from '../storage/blob-store.js';
import { assetPrefix, sourceKey } from '../storage/keys.js';
import { completeUpload } from './complete-upload.js';
import { timeOutUpload } from './end-upload.js';
import type { UploadFiles } from './upload-files.js';
import type { UploadLease, UploadLeases } from './upload-leases.js';
import { type SessionContext, UploadSession } from './upload-session.js';
import { UploadSlots } from './upload-slots.js';

interface UploadSessionsOptions extends SessionContext {
  readonly blobs: Pick<BlobStore, 'stat' | 'deletePrefix'>;
  readonly files: UploadFiles;
  /** Absent where only this server can receive uploads. */
  readonly leases?: UploadLeases | undefined;
}

/**
 * Receives the bytes of direct uploads, whatever protocol carries them:
 *
 *     const session = await sessions.open(uploadId);
 *     try {
 *       await session.declareSize(totalBytes);                  // as soon as it is known
 *       await session.append(body, { offsetBytes, endBytes });  // offsetBytes <= receivedBytes
 *       if (session.receivedBytes === session.totalBytes) await session.complete();
 *     } finally {
 *       await session.close();
 *     }
 *
 * Bytes go straight to the blob of the asset to come; memory is bounded, and what was stored when a
 * request, the process or the connection ended is there for the next session.
 */
export class UploadSessions {
  private readonly slots: UploadSlots;

  constructor(private readonly options: UploadSessionsOptions) {
    this.slots = new UploadSlots(options.context.clock);
  }

  /**
   * Opens the upload's only session; `close` must always follow. Waits for a previous one that is
   * ending, and ends one that has been silent for seconds (its connection was lost unnoticed).
   * @throws KinoraError `not_found`; `gone` when cancelled, timed out or errored; `upload_busy`
   * while another session receives bytes
   */
  async open(uploadId: string): Promise<UploadSession> {
    const { files, leases } = this.options;
    const slot = await this.slots.take(uploadId);
    let lease: UploadLease | undefined;
    try {
      let upload = await this.find(uploadId);
      if (upload?.status === 'waiting' && leases) {
        lease = await leases.take(uploadId);
        slot.follow(lease.signal);
        // Another server may have ended it in the meantime.
        upload = await this.find(uploadId);
      }
      if (!upload) throw new KinoraError('not_found');
      upload = await this.settleWaiting(upload);
      const onIncomplete = (): Promise<void> => this.removeEnded(uploadId);
      if (upload.status === 'asset_created') {
        await lease?.release();
        return new UploadSession(this.options, { upload, slot, file: undefined, lease: undefined, onIncomplete });
      }
      if (upload.status !== 'waiting') throw new KinoraError('gone');
      const file = await files.open(upload, lease);
      return new UploadSession(this.options, { upload, slot, file, lease, onIncomplete });
    } catch (error) {
      slot.leave();
      await lease?.release();
      throw error;
    }
  }

  /** Whether this server or another one has a session. */
  async isOpen(uploadId: string): Promise<boolean> {
    if (this.slots.find(uploadId)) return true;
    return (await this.options.leases?.isHeld(uploadId)) ?? false;
  }

  /**
   * The upload was cancelled: ends the current session, if any, on whatever server, and removes
   * what this one has stored.
   */
  async abort(uploadId: string): Promise<void> {
    const slot = this.slots.find(uploadId);
    slot?.abort(new KinoraError('gone'));
    await this.options.leases?.end(uploadId);
    await slot?.left;
    await this.options.files.drop(uploadId);
  }

  /**
   * Another server continues, or the upload has ended there: removes what this one has of it, once
   * its own session has ended.
   */
  async release(uploadId: string): Promise<void> {
    await this.slots.find(uploadId)?.left;
    await this.options.files.drop(uploadId);
  }

  /**
   * Finishes what the expiry, or a crash after the last byte, left undone. Does nothing while a
   * session is open.
   */
  async settle(uploadId: string): Promise<void> {
    if (this.slots.find(uploadId)) return;
    const { files, leases } = this.options;
    const slot = await this.slots.take(uploadId);
    let lease: UploadLease | undefined;
    // This takes only a moment: a new sender waits for it.
    slot.isEnding = true;
    try {
      lease = await leases?.takeIfFree(uploadId);
      if (leases && !lease) return;
      const upload = await this.find(uploadId);
      const settled = upload && (await this.settleWaiting(upload));
      // After a restart: what has arrived plays again before the next request.
      if (settled?.status === 'waiting' && settled.early_playback_ids) await (await files.open(settled, lease)).pause();
    } finally {
      slot.leave();
      await lease?.release();
    }
  }

  /** Returns the upload after finishing what a crash or its expiry left undone. */
  private async settleWaiting(upload: Row<'upload'>): Promise<Row<'upload'>> {
    const { context, blobs, files } = this.options;
    if (upload.status !== 'waiting') return upload;
    if (await blobs.stat(sourceKey(upload.target_asset_id))) return completeUpload(context, upload.id);
    if (upload.expires_at > context.clock.now()) return upload;
    const ended = await timeOutUpload(context, upload.id);
    if (ended.status === 'timed_out') await files.drop(upload.id);
    return ended;
  }

  /** A session may outlast its upload, whose outcome is decided when the session ends. */
  private async removeEnded(uploadId: string): Promise<void> {
    const { blobs, files } = this.options;
    const upload = await this.find(uploadId);
    const { status } = upload ? await this.settleWaiting(upload) : { status: 'cancelled' as const };
    // The purge after the end of the upload may have run while this session still stored bytes.
    if (status === 'waiting' || status === 'asset_created') return;
    await files.drop(uploadId);
    if (upload) await blobs.deletePrefix(assetPrefix(upload.target_asset_id));
  }

  private find(uploadId: string): Promise<Row<'upload'> | undefined> {
    return findUploadById(this.options.context.database.queryable, uploadId);
  }
}

import type { Readable } from 'node:stream';
import { DataStore, type Locker, Upload } from '@tus/server';
import type { UploadSession } from '../../uploads/upload-session.js';

export const TUS_EXTENSIONS = ['creation', 'creation-defer-length'] as const;

/**
 * An upload that is open for writing, as the tus protocol sees it: the bytes, the size and the end
 * of its session.
 */
export class TusStore extends DataStore {
  override extensions = [...TUS_EXTENSIONS];

  constructor(
    private readonly id: string,
    private readonly session: UploadSession,
  ) {
    super();
  }

  /**
   * The upload already exists; creation declares the size of its file. For the same size the stored
   * bytes are kept, because clients create again when a proxy answered for an unavailable server;
   * if they then start at zero, they get a conflict and ask for the offset. A different size means
   * a different file.
   */
  override async create(upload: Upload): Promise<Upload> {
    const { isComplete, totalBytes } = this.session;
    if (upload.size === undefined) return upload;
    const isOther = totalBytes !== undefined && totalBytes !== upload.size;
    await (isOther && !isComplete ? this.session.startOver(upload.size) : this.session.declareSize(upload.size));
    return upload;
  }

  override async getUpload(): Promise<Upload> {
    // An earlier request could not finish it, and a client that has sent everything only asks.
    await this.completeIfReceived();
    const { receivedBytes, totalBytes } = this.session;
    return new Upload({ id: this.id, offset: receivedBytes, size: totalBytes });
  }

  override async declareUploadLength(_id: string, sizeBytes: number): Promise<void> {
    await this.session.declareSize(sizeBytes);
  }

  override async write(body: Readable, _id: string, offsetBytes: number): Promise<number> {
    await this.session.append(body, { offsetBytes });
    await this.completeIfReceived();
    return this.session.receivedBytes;
  }

  private async completeIfReceived(): Promise<void> {
    const { receivedBytes, totalBytes, isComplete } = this.session;
    if (receivedBytes === totalBytes && !isComplete) await this.session.complete();
  }
}

/** The upload's only session is opened before the protocol begins, so no lock is needed. */
export const noLocker: Locker = { newLock: () => ({ lock: async () => {}, unlock: async () => {} }) };

import type { Readable } from 'node:stream';
import { DataStore, type Locker, Upload } from '@tus/server';
import type { UploadWriter } from '../../domain/uploads/upload-writer.js';

export const TUS_EXTENSIONS = ['creation', 'creation-defer-length'] as const;

/** An upload that is open for writing, as the tus protocol sees it: the writer's bytes, size and end. */
export class TusStore extends DataStore {
  override extensions = [...TUS_EXTENSIONS];

  constructor(
    private readonly id: string,
    private readonly writer: UploadWriter,
  ) {
    super();
  }

  /**
   * The upload already exists; creation declares the size of its file. For the same size the stored bytes are kept,
   * because clients create again when a proxy answered for an unavailable server; if they then start at zero, they
   * get a conflict and ask for the offset. A different size means a different file.
   */
  override async create(upload: Upload): Promise<Upload> {
    const { isComplete, totalBytes } = this.writer;
    if (upload.size === undefined) return upload;
    const isOther = totalBytes !== undefined && totalBytes !== upload.size;
    await (isOther && !isComplete ? this.writer.restart(upload.size) : this.writer.setTotal(upload.size));
    return upload;
  }

  override async getUpload(): Promise<Upload> {
    // An earlier request could not finish it, and a client that has sent everything only asks.
    await this.finishIfComplete();
    const { receivedBytes, totalBytes } = this.writer;
    return new Upload({ id: this.id, offset: receivedBytes, ...(totalBytes !== undefined && { size: totalBytes }) });
  }

  override async declareUploadLength(_id: string, sizeBytes: number): Promise<void> {
    await this.writer.setTotal(sizeBytes);
  }

  override async write(body: Readable, _id: string, offsetBytes: number): Promise<number> {
    await this.writer.write(body, { offsetBytes });
    await this.finishIfComplete();
    return this.writer.receivedBytes;
  }

  private async finishIfComplete(): Promise<void> {
    const { receivedBytes, totalBytes, isComplete } = this.writer;
    if (receivedBytes === totalBytes && !isComplete) await this.writer.finish();
  }
}

/** The upload's only writer is opened before the protocol begins, so no lock is needed. */
export const noLocker: Locker = { newLock: () => ({ lock: async () => {}, unlock: async () => {} }) };

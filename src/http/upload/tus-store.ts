import type { Readable } from 'node:stream';
import { DataStore, type Locker, Upload } from '@tus/server';
import type { UploadWriter } from '../../domain/uploads/upload-writer.js';

export const TUS_EXTENSIONS = ['creation', 'creation-defer-length'] as const;

/** One upload, open for writing, as the tus protocol sees it: the writer's bytes, size and end. */
export class TusStore extends DataStore {
  override extensions = [...TUS_EXTENSIONS];

  constructor(
    private readonly id: string,
    private readonly writer: UploadWriter,
  ) {
    super();
  }

  /**
   * The upload exists already: creation tells the size of its file. For the same size what was stored is kept, because
   * clients create again when a proxy answered for a server that was unavailable; where they then begin at zero they are told of
   * the conflict and ask for the offset. Another size is another file.
   */
  override async create(upload: Upload): Promise<Upload> {
    const { isComplete, totalBytes } = this.writer;
    if (upload.size === undefined) return upload;
    const isOther = totalBytes !== undefined && totalBytes !== upload.size;
    await (isOther && !isComplete ? this.writer.restart(upload.size) : this.writer.setTotal(upload.size));
    return upload;
  }

  override async getUpload(): Promise<Upload> {
    const { receivedBytes, totalBytes } = this.writer;
    return new Upload({ id: this.id, offset: receivedBytes, ...(totalBytes !== undefined && { size: totalBytes }) });
  }

  override async declareUploadLength(_id: string, sizeBytes: number): Promise<void> {
    await this.writer.setTotal(sizeBytes);
  }

  override async write(body: Readable, _id: string, offsetBytes: number): Promise<number> {
    await this.writer.write(body, { offsetBytes });
    if (this.writer.receivedBytes === this.writer.totalBytes) await this.writer.finish();
    return this.writer.receivedBytes;
  }
}

/** The writer has its place before the protocol begins: there is nobody left to lock out. */
export const noLocker: Locker = { newLock: () => ({ lock: async () => {}, unlock: async () => {} }) };

import type { Row } from '../db/schema.js';
import type { DomainContext } from '../domain/context.js';
import type { BlobStore, BlobWrite, SharedWrite } from '../storage/blob-store.js';
import { sourceKey } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';
import type { UploadLease } from './upload-leases.js';
import { type EarlyPlayer, UploadPlayback } from './upload-playback.js';

/** Each keeps a file open and a plan in memory, until the upload ends. */
const MAX_PLAYING = 100;

interface UploadFilesOptions {
  readonly context: Pick<DomainContext, 'database' | 'wire' | 'assetHook'>;
  readonly blobs: Pick<BlobStore, 'resumeWrite' | 'resumeShared'>;
  readonly logger: Logger;
  /**
   * Or why no upload plays before it is complete. Absent: nothing plays, and no reason is stored.
   */
  readonly early?: EarlyPlayer | string | undefined;
}

/** The unfinished files of uploads. One that plays stays open between requests. */
export class UploadFiles {
  private readonly playing = new Map<string, UploadFile>();
  private readonly discarding = new Map<string, Promise<void>>();

  constructor(private readonly options: UploadFilesOptions) {}

  /** `lease` is present where uploads have leases. */
  async open(upload: Row<'upload'>, lease?: UploadLease): Promise<UploadFile> {
    // A discard that still runs would remove the file that is opened here.
    await this.discarding.get(upload.id)?.catch(() => undefined);
    const playing = this.playing.get(upload.id);
    if (playing && (!lease || playing.continueWith(lease))) return playing;
    await this.drop(upload.id);
    const { blobs, ...options } = this.options;
    const key = sourceKey(upload.target_asset_id);
    const shared = lease && (await blobs.resumeShared?.(key, lease));
    const write = shared ?? (await blobs.resumeWrite(key));
    const playback = new UploadPlayback({
      ...{ context: options.context, logger: options.logger, early: options.early, upload, write },
      isPartial: () => shared?.isPartial ?? false,
      canPlay: () => this.playing.size < MAX_PLAYING,
      onPlaying: () => this.playing.set(upload.id, file),
      onEnded: () => this.playing.delete(upload.id),
    });
    const file = new UploadFile(write, shared, playback);
    await playback.start();
    return file;
  }

  /**
   * The upload has ended without an asset, or continues on another server: nothing of it can be
   * played any more. Removes the file if it has stayed open.
   */
  drop(uploadId: string): Promise<void> {
    const file = this.playing.get(uploadId);
    if (!file) return this.discarding.get(uploadId) ?? Promise.resolve();
    // From now on, nobody returns to it. Its readers have to end before it is removed.
    this.playing.delete(uploadId);
    const discarded = file.discard().finally(() => this.discarding.delete(uploadId));
    this.discarding.set(uploadId, discarded);
    return discarded;
  }

  /** Suspends the files that have stayed open: the server stops. */
  async stop(): Promise<void> {
    await Promise.all([...this.playing.values()].map((file) => file.stop()));
  }
}

/** The unfinished file of an upload, and what may read it. */
export class UploadFile {
  constructor(
    readonly write: BlobWrite,
    /** `write`, if other servers can continue it. */
    private readonly shared: SharedWrite | undefined,
    readonly playback: UploadPlayback,
  ) {}

  /** Returns false when another server has received bytes in the meantime. */
  continueWith(lease: UploadLease): boolean {
    return this.shared?.continueWith(lease) ?? true;
  }

  /** Drops the bytes: another file follows. */
  startOver(): Promise<void> {
    return this.playback.startOver(() => this.write.restart());
  }

  /** Makes the received bytes durable. The file stays open if it plays. */
  async pause(): Promise<void> {
    if (!this.playback.isPlaying) return this.write.suspend();
    await (this.shared ? this.shared.record() : this.write.sync());
    this.playback.stored();
  }

  async stop(): Promise<void> {
    await this.playback.endPlanning();
    await this.playback.endReading(() => this.write.suspend());
  }

  discard(): Promise<void> {
    return this.playback.discard(() => this.write.discard(), this.shared !== undefined);
  }
}

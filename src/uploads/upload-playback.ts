import { isDeepStrictEqual } from 'node:util';
import type { EarlyPlayback, Row } from '../db/schema.js';
import { saveUploadEarlyPlayback } from '../db/tables/assets/upload.js';
import type { DomainContext } from '../domain/context.js';
import type { AssetRequest } from '../domain/requests/asset-request.js';
import { KinoraError } from '../lib/errors.js';
import { isMatroska } from '../media/matroska/layout.js';
import { findLeadingMoov } from '../media/mp4/leading-moov.js';
import { isTransportStream } from '../media/source/transport-stream.js';
import type { BlobInfo, BlobWrite, RangeBlobStore, RangeSource } from '../storage/blob-store.js';
import { sourceKey } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';
import { readUploadSettings } from './complete-upload.js';
import { retractEarlyPlayback, whySettingsStoreFirst } from './early-playback.js';

/** A file that is still being received, as its player reads it. */
export interface PlayableUpload {
  readonly upload: Row<'upload'>;
  readonly settings: AssetRequest;
  /**
   * What has arrived: `openLocal` of the blob store reads it. The rest fails with `unavailable`.
   */
  readonly source: RangeSource;
  /** The file has no index at its start: it is planned again and again from what has arrived. */
  readonly grows: boolean;
  /** Stores why the file can't be played, or not any more. */
  record(status: EarlyPlayback): Promise<void>;
}

/**
 * Plays one upload before it is complete. An interface, because `early/` implements it, which this
 * room may not import. In the order of an upload's life:
 */
export interface UploadPlayer {
  /** Whether to call `received` at this size. The bytes are synced before. */
  isWaiting(bytes: number): boolean;
  /** This many bytes from the start can be read now. */
  received(bytes: number): void;
  /** Whether viewers can play it now. */
  isOffered(): boolean;
  /** The file is complete, or the server stops. Ends planning; what can be played stays so. */
  endPlanning(): Promise<void>;
  /** The bytes are dropped, or there will be no asset. Ends playback and removes what was made. */
  withdraw(): Promise<void>;
}

export interface EarlyPlayer {
  readonly blobs: Pick<RangeBlobStore, 'openRanges'>;
  readonly play: (upload: PlayableUpload) => UploadPlayer;
}

const NOT_IN_ORDER =
  'the file is not an MP4 or MOV with an index of all frames at its start, a Matroska, a WebM or an MPEG-TS';
const MOVED = 'the beginning of the file was received by another server, or before a restart';
const NOT_EARLY = 'upload does not play early';

interface PlaybackOptions {
  readonly context: Pick<DomainContext, 'database' | 'wire' | 'assetHook'>;
  readonly logger: Logger;
  /**
   * Or why no upload plays before it is complete. Absent: nothing plays, and no reason is stored.
   */
  readonly early: EarlyPlayer | string | undefined;
  readonly upload: Row<'upload'>;
  readonly write: BlobWrite;
  /** A part of the stored bytes is not on this machine. */
  readonly isPartial: () => boolean;
  /** Called when the upload begins to play, if more may play. */
  readonly canPlay: () => boolean;
  readonly onPlaying: () => void;
  readonly onEnded: () => void;
}

/**
 * What of one upload can be read before it is complete: searches the received bytes for the index
 * of the file, then opens the unfinished file for the player and tells it what arrives.
 */
export class UploadPlayback {
  private upload: Row<'upload'>;
  private totalBytes: number | undefined;
  /** Absent once it is known whether the file plays. */
  private search: StartSearch | undefined = new StartSearch();
  private hasSearched = false;
  private playing: { readonly player: UploadPlayer; readonly source: RangeSource } | undefined;
  /** Of the file that was committed. */
  private lastPlayer: UploadPlayer | undefined;

  constructor(private readonly options: PlaybackOptions) {
    this.upload = options.upload;
    this.totalBytes = options.upload.total_bytes ?? undefined;
  }

  get isPlaying(): boolean {
    return this.playing !== undefined;
  }

  /** Looks at what earlier requests have stored. */
  async start(): Promise<void> {
    if (this.options.isPartial() && this.upload.early_playback_ids) {
      await retractEarlyPlayback(this.options.context, this.upload.id);
      this.search = undefined;
      await this.recordMoved();
    }
    await this.received();
  }

  /** Undefined while the size of the file is unknown. */
  declareSize(totalBytes: number | undefined): void {
    this.totalBytes = totalBytes;
  }

  /** Called when bytes were written. */
  async received(): Promise<void> {
    const { write, logger } = this.options;
    if (this.search) {
      await this.evaluate(this.search).catch((error: unknown) => {
        this.search = undefined;
        logger.warn({ err: error, upload_id: this.upload.id }, NOT_EARLY);
      });
    }
    if (!this.playing?.player.isWaiting(write.offsetBytes)) return;
    await write.sync();
    this.playing.player.received(write.offsetBytes);
  }

  /** Called when a request has ended and every byte of it is stored. */
  stored(): void {
    this.playing?.player.received(this.options.write.offsetBytes);
  }

  /** Another file follows. `restart` drops the bytes. */
  async startOver(restart: () => Promise<void>): Promise<void> {
    await this.playing?.player.withdraw();
    await this.endReading(restart);
    // Also those that a server announced before it was restarted.
    await retractEarlyPlayback(this.options.context, this.upload.id);
    this.upload = { ...this.upload, early_playback_ids: null };
    await this.record(null);
    this.search = new StartSearch();
  }

  /** Makes the complete file the blob. Existing readers keep reading. */
  async commit(): Promise<BlobInfo> {
    await this.endPlanning();
    const reason = this.hasSearched
      ? 'the file was complete before it could be played'
      : 'the size of the file was not known';
    const hasStatus = this.upload.early_playback !== null || this.playing?.player.isOffered();
    if (this.options.early && !hasStatus) await this.storeFirst(reason);
    this.lastPlayer = this.playing?.player;
    const source = this.detach();
    return source ? source.commit() : this.options.write.commit();
  }

  /** After `commit`: the asset can't be created. */
  async withdraw(): Promise<void> {
    await this.lastPlayer?.withdraw();
  }

  /** Ends planning. What can be played stays so. */
  async endPlanning(): Promise<void> {
    await this.playing?.player.endPlanning();
  }

  /** Runs `finish`, which ends the write, when nobody reads the unfinished file any more. */
  async endReading<T>(finish: () => Promise<T>): Promise<T> {
    const source = this.detach();
    return source ? source.end(finish) : finish();
  }

  /** Ends playback before `discard` removes the file. */
  async discard(discard: () => Promise<void>, isShared: boolean): Promise<void> {
    const wasPlaying = this.playing?.player.isOffered() ?? false;
    await this.playing?.player.withdraw();
    await this.endReading(discard);
    if (isShared && wasPlaying) await this.recordMoved();
  }

  private detach(): RangeSource | undefined {
    this.options.onEnded();
    const source = this.playing?.source;
    this.playing = undefined;
    return source;
  }

  private async evaluate(search: StartSearch): Promise<void> {
    const { early, write, isPartial } = this.options;
    if (!search.isWaiting(write.offsetBytes)) return;
    if (!early) return;
    if (typeof early === 'string') return this.storeFirst(early);
    if (this.totalBytes === undefined) return;
    if (isPartial()) return this.upload.early_playback?.status === 'ended' ? undefined : this.storeFirst(MOVED);
    this.hasSearched = true;
    if (write.offsetBytes >= this.totalBytes) return;
    const outcome = await search.evaluate(write, this.totalBytes);
    if (outcome === 'unplayable') await this.storeFirst(NOT_IN_ORDER);
    else if (outcome) await this.play(early, this.totalBytes, outcome === 'grows');
  }

  private async play({ blobs, play }: EarlyPlayer, sizeBytes: number, grows: boolean): Promise<void> {
    const { context, write, canPlay, onPlaying } = this.options;
    const { upload } = this;
    this.search = undefined;
    const settings = await readUploadSettings(context, context.database.queryable, upload);
    if (settings instanceof KinoraError) return;
    const reason = canPlay() ? whySettingsStoreFirst(settings, upload) : 'too many uploads play early';
    if (reason !== undefined) return this.storeFirst(reason);
    const origin = { sizeBytes, read: notReceived, growsAtEnd: grows };
    const source = await blobs.openRanges(sourceKey(upload.target_asset_id), write, origin);
    const record = (status: EarlyPlayback): Promise<void> => this.record(status);
    this.playing = { source, player: play({ upload, settings, source, grows, record }) };
    onPlaying();
  }

  private recordMoved(): Promise<void> {
    return this.record({ status: 'ended', reason: MOVED });
  }

  private storeFirst(reason: string): Promise<void> {
    this.search = undefined;
    return this.record({ status: 'stored_first', reason });
  }

  /** Stores the early-playback status, for the asset to come. */
  private async record(status: EarlyPlayback | null): Promise<void> {
    const { context, logger } = this.options;
    const { upload } = this;
    if (isDeepStrictEqual(status, upload.early_playback)) return;
    const fields = { upload_id: upload.id, asset_id: upload.target_asset_id };
    if (status && 'reason' in status)
      logger.info({ ...fields, reason: status.reason }, status.status === 'ended' ? 'early playback ended' : NOT_EARLY);
    this.upload = { ...upload, early_playback: status };
    await saveUploadEarlyPlayback(context.database.queryable, upload.id, status).catch((error: unknown) => {
      logger.warn({ ...fields, err: error }, 'early playback of upload not recorded');
    });
  }
}

/** Media data that has arrived before the file is probed. */
const FIRST_BYTES = 256 * 1024;
/** Five packets of an MPEG transport stream of any kind. */
const HEAD_BYTES = 1024;

/** Searches the received bytes for what a player needs, each time that enough has arrived. */
class StartSearch {
  private nextBytes = 0;

  isWaiting(receivedBytes: number): boolean {
    return receivedBytes >= this.nextBytes;
  }

  /** Undefined when more bytes are needed. */
  async evaluate(
    write: Pick<BlobWrite, 'offsetBytes' | 'read'>,
    totalBytes: number,
  ): Promise<'indexed' | 'grows' | 'unplayable' | undefined> {
    if (this.needs(write, Math.max(this.nextBytes, HEAD_BYTES))) return undefined;
    const head = await write.read(0, HEAD_BYTES);
    // These can be read without their end.
    if (isMatroska(head) || isTransportStream(head)) return this.needs(write, FIRST_BYTES) ? undefined : 'grows';
    const moov = await findLeadingMoov((at, length) => write.read(at, length), write.offsetBytes, totalBytes);
    if (!moov) return 'unplayable';
    if (!('atBytes' in moov)) return this.needs(write, moov.moov.end + FIRST_BYTES) ? undefined : 'indexed';
    this.nextBytes = moov.atBytes;
    return undefined;
  }

  private needs(write: Pick<BlobWrite, 'offsetBytes'>, bytes: number): boolean {
    this.nextBytes = bytes;
    return write.offsetBytes < bytes;
  }
}

/** Only the sender has the rest of the file. */
const notReceived = (): never => {
  throw new KinoraError('unavailable', { details: { reason: 'a part of the upload has not arrived yet' } });
};

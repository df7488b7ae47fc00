import { isDeepStrictEqual } from 'node:util';
import type { EarlyPlayback, Row } from '../../db/schema.js';
import { readUploadSettings } from '../../domain/uploads/complete-upload.js';
import { retractEarlyPlayback, saveUploadWay, whySettingsStoreFirst } from '../../domain/uploads/early-playback.js';
import type { UploadLease } from '../../domain/uploads/upload-leases.js';
import type { UploadTarget, UploadTargets } from '../../domain/uploads/upload-writer.js';
import { UploadPlay, type UploadPlayDeps } from '../../early/upload-play.js';
import { KinoraError } from '../../lib/errors.js';
import { isMatroska } from '../../media/matroska/layout.js';
import { findLeadingMoov } from '../../media/mp4/leading-moov.js';
import { isTransportStream } from '../../media/source/transport-stream.js';
import type { BlobWrite, RangeSource, SharedWrite } from '../../storage/blob-store.js';
import { sourceKey } from '../../storage/keys.js';

interface UploadTargetDeps extends UploadPlayDeps {
  /** Whether uploads play before they are complete, where that is possible. */
  readonly playsEarly: boolean;
}

/** An upload with a target that stays open between requests. */
interface Kept {
  readonly target: UploadTarget;
  /** Returns false when another server has received bytes in the meantime. */
  continueWith(lease: UploadLease): boolean;
  stop(): Promise<void>;
}

/** Each keeps a file open and a plan in memory, until the upload ends. */
const MAX_KEPT = 100;
const NOT_IN_ORDER =
  'the file is not an MP4 or MOV with an index of all frames at its start, a Matroska, a WebM or an MPEG-TS';
const MOVED = 'the beginning of the file was received by another server, or before a restart';
const NOT_EARLY = 'upload does not play early';
/** Media data that has arrived before the file is probed. */
const FIRST_BYTES = 256 * 1024;
/** Five packets of an MPEG transport stream of any kind. */
const HEAD_BYTES = 1024;

export const createUploadTargets = (deps: UploadTargetDeps): UploadTargets => {
  const kept = new Map<string, Kept>();
  const discarding = new Map<string, Promise<void>>();
  /** From now on, nobody returns to the kept target. Its readers have to end before it is removed. */
  const discard = (uploadId: string): Promise<void> => {
    const playing = kept.get(uploadId);
    if (!playing) return discarding.get(uploadId) ?? Promise.resolve();
    kept.delete(uploadId);
    const discarded = playing.target.discard().finally(() => discarding.delete(uploadId));
    discarding.set(uploadId, discarded);
    return discarded;
  };
  return {
    open: async (upload, lease) => {
      // Otherwise it would remove the file of the new target.
      await discarding.get(upload.id)?.catch(() => undefined);
      const playing = kept.get(upload.id);
      if (playing && (!lease || playing.continueWith(lease))) return playing.target;
      await discard(upload.id);
      const key = sourceKey(upload.target_asset_id);
      const shared = lease && (await deps.blobs.resumeShared?.(key, lease));
      return openTarget(deps, upload, shared ?? (await deps.blobs.resumeWrite(key)), kept, shared);
    },
    drop: discard,
    stop: async () => {
      await Promise.all([...kept.values()].map((each) => each.stop()));
    },
  };
};

const openTarget = async (
  deps: UploadTargetDeps,
  row: Row<'upload'>,
  write: BlobWrite,
  kept: Map<string, Kept>,
  /** `write`, if other servers can continue it. */
  shared: SharedWrite | undefined,
): Promise<UploadTarget> => {
  const { context, blobs, logger } = deps;
  let upload = row;
  let totalBytes = row.total_bytes ?? undefined;
  let lookAtBytes = 0;
  let hasLooked = false;
  let playing: { readonly play: UploadPlay; readonly source: RangeSource } | undefined;
  let committedPlay: UploadPlay | undefined;

  /** Remembers the way that the file takes, for the asset to come. */
  const record = async (early: EarlyPlayback | null): Promise<void> => {
    if (isDeepStrictEqual(early, upload.early_playback)) return;
    const fields = { upload_id: upload.id, asset_id: upload.target_asset_id };
    if (early && 'reason' in early)
      logger.info({ ...fields, reason: early.reason }, early.status === 'ended' ? 'early playback ended' : NOT_EARLY);
    upload = { ...upload, early_playback: early };
    await saveUploadWay(context, upload.id, early).catch((error: unknown) => {
      logger.warn({ ...fields, err: error }, 'early playback of upload not recorded');
    });
  };
  /** Does not look again. */
  const storeFirst = (reason: string): Promise<void> => {
    lookAtBytes = Number.POSITIVE_INFINITY;
    return record({ status: 'stored_first', reason });
  };

  const begin = async (sizeBytes: number, grows: boolean): Promise<void> => {
    lookAtBytes = Number.POSITIVE_INFINITY;
    const request = await readUploadSettings(context, context.database.queryable, upload);
    if (request instanceof KinoraError) return;
    const refusal = kept.size < MAX_KEPT ? whySettingsStoreFirst(request, upload) : 'too many uploads play early';
    if (refusal !== undefined) return storeFirst(refusal);
    const source = await blobs.openRanges(sourceKey(upload.target_asset_id), write, {
      sizeBytes,
      read: refuse,
      ...(grows && { growsAtEnd: true }),
    });
    playing = { source, play: new UploadPlay(deps, { upload, settings: request, source, grows, record }) };
    kept.set(upload.id, { target, stop, continueWith: (lease) => shared?.continueWith(lease) ?? true });
  };

  /** Searches the received bytes for the moov box. */
  const look = async (): Promise<void> => {
    if (write.offsetBytes < lookAtBytes) return;
    if (!deps.playsEarly) return storeFirst('KINORA_RANGE_SOURCES is false');
    if (totalBytes === undefined) return;
    if (shared?.isPartial) return upload.early_playback?.status === 'ended' ? undefined : storeFirst(MOVED);
    hasLooked = true;
    if (write.offsetBytes >= totalBytes) return;
    lookAtBytes = Math.max(lookAtBytes, HEAD_BYTES);
    if (write.offsetBytes < lookAtBytes) return;
    if (isPlayedInOrder(await write.read(0, HEAD_BYTES))) {
      lookAtBytes = FIRST_BYTES;
      return write.offsetBytes < FIRST_BYTES ? undefined : begin(totalBytes, true);
    }
    const found = await findLeadingMoov((at, length) => write.read(at, length), write.offsetBytes, totalBytes);
    if (!found) await storeFirst(NOT_IN_ORDER);
    else if ('atBytes' in found) lookAtBytes = found.atBytes;
    else if (write.offsetBytes < found.moov.end + FIRST_BYTES) lookAtBytes = found.moov.end + FIRST_BYTES;
    else await begin(totalBytes, false);
  };
  const received = async (): Promise<void> => {
    if (!playing) {
      await look().catch((error: unknown) => {
        lookAtBytes = Number.POSITIVE_INFINITY;
        logger.warn({ err: error, upload_id: upload.id }, NOT_EARLY);
      });
    }
    if (!playing?.play.isWaiting(write.offsetBytes)) return;
    await write.sync();
    playing.play.received(write.offsetBytes);
  };
  /** The write that waits for the readers of the file, if there are any. */
  const end = (): BlobWrite => {
    kept.delete(upload.id);
    const ended = playing?.source.target ?? write;
    playing = undefined;
    return ended;
  };
  const stop = async (): Promise<void> => {
    await playing?.play.settle();
    await end().suspend();
  };

  const target: UploadTarget = {
    get offsetBytes() {
      return write.offsetBytes;
    },
    setTotal: (value) => {
      totalBytes = value;
    },
    write: async (chunk) => {
      await write.write(chunk);
      await received();
    },
    restart: async () => {
      await playing?.play.withdraw();
      await end().restart();
      // Also those that a server announced before it was restarted.
      await retractEarlyPlayback(context, upload.id);
      upload = { ...upload, early_playback_ids: null };
      await record(null);
      lookAtBytes = 0;
    },
    commit: async () => {
      await playing?.play.settle();
      const reason = hasLooked
        ? 'the file was complete before it could be played'
        : 'the size of the file was not known';
      if (!upload.early_playback && !playing?.play.isPublished()) await storeFirst(reason);
      committedPlay = playing?.play;
      return end().commit();
    },
    withdraw: async () => committedPlay?.withdraw(),
    suspend: async () => {
      if (!playing) return write.suspend();
      await (shared ? shared.record() : write.sync());
      playing.play.received(write.offsetBytes);
    },
    discard: async () => {
      const wasPlaying = playing?.play.isPublished() ?? false;
      await playing?.play.withdraw();
      await end().discard();
      if (shared && wasPlaying) await record({ status: 'ended', reason: MOVED });
    },
  };
  if (shared?.isPartial && upload.early_playback_ids) {
    await retractEarlyPlayback(context, upload.id);
    lookAtBytes = Number.POSITIVE_INFINITY;
    await record({ status: 'ended', reason: MOVED });
  }
  await received();
  return target;
};

/** Whether a file that begins with `head` can be read without its end. */
const isPlayedInOrder = (head: Uint8Array): boolean => isMatroska(head) || isTransportStream(head);

/** Only the sender has the rest of the file. */
const refuse = (): never => {
  throw new KinoraError('unavailable', { details: { reason: 'a part of the upload has not arrived yet' } });
};

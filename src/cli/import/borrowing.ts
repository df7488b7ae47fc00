import { setTimeout as sleep } from 'node:timers/promises';
import type { Borrowed } from '../../db/schema.js';
import { addedPlaybackIds } from '../../domain/import/borrowed.js';
import type { SourceAsset, SourcePlaybackId } from '../../domain/import/source-asset.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import type { SourceApi } from '../../net/source-api.js';

/** Temporary access to one asset at the source. */
export interface Borrowing {
  /** The URL of the master file, or a sentence that says why there is none. */
  master(): Promise<{ readonly url: string } | string>;
  /** A public playback ID; the asset's own if it has one. */
  publicPlaybackId(): Promise<string>;
  /** Makes the asset what it was before. */
  giveBack(): Promise<void>;
}

export interface BorrowingOptions {
  readonly api: SourceApi;
  readonly assetId: string;
  /** What an earlier run has changed. */
  readonly borrowed: Borrowed;
  /** Stores what is about to be changed, so that a later run can undo it. */
  readonly save: (borrowed: Borrowed | null) => Promise<void>;
  readonly signal: AbortSignal;
  /** The pause between two looks at a master that is made; it doubles up to `maxPollMs`. */
  readonly pollMs?: number;
  readonly maxPollMs?: number;
  /** How long the source may take to make a master. */
  readonly masterLimitMs?: number;
}

/** Half a day of video is copied in less, on a busy source too. */
const MASTER_LIMIT_MS = 3_600_000;

export const createBorrowing = (options: BorrowingOptions): Borrowing => {
  const { api, assetId, save, signal, pollMs = 500, maxPollMs = 10_000, masterLimitMs = MASTER_LIMIT_MS } = options;
  const path = `/video/v1/assets/${assetId}`;
  let borrowed = options.borrowed;

  const find = async (): Promise<SourceAsset> => (await api.call<SourceAsset>('GET', path)).data;
  const borrow = async (more: Borrowed): Promise<void> => {
    borrowed = { ...borrowed, ...more };
    await save(borrowed);
  };
  const setMasterAccess = (access: 'none' | 'temporary') =>
    api.call<SourceAsset>('PUT', `${path}/master-access`, { master_access: access });

  const waitForMaster = async (): Promise<{ readonly url: string } | string> => {
    let waitedMs = 0;
    for (let waitMs = pollMs; ; waitMs = Math.min(waitMs * 2, maxPollMs)) {
      const { master } = await find();
      if (master?.status === 'ready' && master.url !== undefined) return { url: master.url };
      if (master?.status === 'errored') return 'The source could not make the master file.';
      if (waitedMs >= masterLimitMs) return 'The source did not make the master file in time.';
      waitedMs += waitMs;
      await sleep(waitMs, undefined, { signal }).catch((cause: unknown) => {
        throw new KinoraError('cancelled', { cause });
      });
    }
  };

  return {
    master: async () => {
      const { master_access: access, master } = await find();
      if (master?.status === 'ready' && master.url !== undefined) return { url: master.url };
      if (access !== 'temporary') {
        await borrow({ master: true });
        try {
          await setMasterAccess('temporary');
        } catch (error) {
          if (isKinoraError(error, 'invalid_parameters') || isKinoraError(error, 'forbidden'))
            return error.messages[0]!;
          throw error;
        }
      }
      return waitForMaster();
    },
    publicPlaybackId: async () => {
      const { playback_ids: present = [] } = await find();
      const own = present.find(({ policy }) => policy === 'public');
      if (own) return own.id;
      // Stored before the request: of an answer that is lost, nothing but the new playback ID is left.
      await borrow({ playbackIdsBefore: present.map(({ id }) => id) });
      const made = await api.call<SourcePlaybackId>('POST', `${path}/playback-ids`, { policy: 'public' });
      return made.data.id;
    },
    giveBack: async () => {
      if (borrowed.master) await ignoreMissing(setMasterAccess('none'));
      if (borrowed.playbackIdsBefore !== undefined) {
        const source = await ignoreMissing(find());
        for (const id of source ? addedPlaybackIds(source, borrowed) : [])
          await ignoreMissing(api.call('DELETE', `${path}/playback-ids/${id}`));
      }
      borrowed = {};
      await save(null);
    },
  };
};

/** What was deleted at the source needs no return. */
const ignoreMissing = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work;
  } catch (error) {
    if (isKinoraError(error, 'not_found')) return undefined;
    throw error;
  }
};

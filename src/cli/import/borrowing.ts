import { setTimeout as sleep } from 'node:timers/promises';
import type { Borrowed } from '../../db/schema.js';
import { addedPlaybackIds } from '../../domain/import/borrowed.js';
import type { SourceAsset, SourcePlaybackId } from '../../domain/import/source-asset.js';
import { cancelled } from '../../lib/abort.js';
import { isKinoraError } from '../../lib/errors.js';
import type { SourceApi } from '../../net/source-api.js';

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

/** Temporary access to one asset at the source. */
export class Borrowing {
  readonly #options: BorrowingOptions;
  readonly #path: string;
  #borrowed: Borrowed;

  constructor(options: BorrowingOptions) {
    this.#options = options;
    this.#path = `/video/v1/assets/${options.assetId}`;
    this.#borrowed = options.borrowed;
  }

  /** The URL of the master file, or a sentence that says why there is none. */
  async master(): Promise<{ readonly url: string } | string> {
    const { master_access: access, master } = await this.#find();
    if (master?.status === 'ready' && master.url !== undefined) return { url: master.url };
    if (access !== 'temporary') {
      await this.#borrow({ master: true });
      try {
        await this.#setMasterAccess('temporary');
      } catch (error) {
        if (isKinoraError(error, 'invalid_parameters') || isKinoraError(error, 'forbidden')) return error.messages[0]!;
        throw error;
      }
    }
    return this.#waitForMaster();
  }

  /** A public playback ID; the asset's own if it has one. */
  async publicPlaybackId(): Promise<string> {
    const { playback_ids: present = [] } = await this.#find();
    const own = present.find(({ policy }) => policy === 'public');
    if (own) return own.id;
    // Stored before the request: of a response that is lost, nothing but the new playback ID is
    // left.
    await this.#borrow({ playbackIdsBefore: present.map(({ id }) => id) });
    const path = `${this.#path}/playback-ids`;
    const created = await this.#options.api.call<SourcePlaybackId>('POST', path, { policy: 'public' });
    return created.data.id;
  }

  /** Makes the asset what it was before. */
  async release(): Promise<void> {
    const { api, save } = this.#options;
    if (this.#borrowed.master) await ignoreMissing(this.#setMasterAccess('none'));
    if (this.#borrowed.playbackIdsBefore !== undefined) {
      const source = await ignoreMissing(this.#find());
      for (const id of source ? addedPlaybackIds(source, this.#borrowed) : [])
        await ignoreMissing(api.call('DELETE', `${this.#path}/playback-ids/${id}`));
    }
    this.#borrowed = {};
    await save(null);
  }

  async #find(): Promise<SourceAsset> {
    return (await this.#options.api.call<SourceAsset>('GET', this.#path)).data;
  }

  async #borrow(more: Borrowed): Promise<void> {
    this.#borrowed = { ...this.#borrowed, ...more };
    await this.#options.save(this.#borrowed);
  }

  async #setMasterAccess(access: 'none' | 'temporary'): Promise<void> {
    await this.#options.api.call<SourceAsset>('PUT', `${this.#path}/master-access`, { master_access: access });
  }

  async #waitForMaster(): Promise<{ readonly url: string } | string> {
    const { signal, pollMs = 500, maxPollMs = 10_000, masterLimitMs = MASTER_LIMIT_MS } = this.#options;
    let waitedMs = 0;
    for (let waitMs = pollMs; ; waitMs = Math.min(waitMs * 2, maxPollMs)) {
      const { master } = await this.#find();
      if (master?.status === 'ready' && master.url !== undefined) return { url: master.url };
      if (master?.status === 'errored') return 'The source could not make the master file.';
      if (waitedMs >= masterLimitMs) return 'The source did not make the master file in time.';
      waitedMs += waitMs;
      await sleep(waitMs, undefined, { signal }).catch((cause: unknown) => {
        throw cancelled(signal, cause);
      });
    }
  }
}

/** What was deleted at the source needs no return. */
const ignoreMissing = async <T>(request: Promise<T>): Promise<T | undefined> => {
  try {
    return await request;
  } catch (error) {
    if (isKinoraError(error, 'not_found')) return undefined;
    throw error;
  }
};

import pLimit from 'p-limit';
import { throwIfAborted } from '../lib/abort.js';
import { type ByteRange, type ByteRanges, mergeRanges } from '../lib/byte-ranges.js';
import { KinoraError } from '../lib/errors.js';
import { SharedLock } from '../lib/shared-lock.js';
import type { RangeOrigin } from './blob-store.js';

/**
 * Blocks with a gap of at most this many bytes between them are fetched by one request, including
 * the gap.
 */
const MAX_GAP_BYTES = 512 * 1024;
/** Limits the size of a request, so that long ranges are fetched over several connections. */
export const MAX_REQUEST_BYTES = 4 * 2 ** 20;
const MAX_REQUESTS = 4;

interface BlockFetcherOptions {
  readonly origin: RangeOrigin;
  readonly blockBytes: number;
  readonly signal: AbortSignal;
  /** The number of bytes from the start that are present already. */
  readonly readableBytes: () => number;
  /** Called before every request. */
  readonly begin: () => Promise<void>;
  readonly put: (offset: number, chunk: Uint8Array) => Promise<void>;
}

const wrongLength = ({ start, end }: ByteRange, received: number): KinoraError => {
  const reason = 'a range of another length than asked for';
  return new KinoraError('unavailable', {
    details: { stage: 'ranges', reason, start, end, received: received - start },
  });
};

/** Fetches the missing blocks of a file with holes; each block is fetched once. */
export class BlockFetcher {
  private readonly blocks = new Map<number, 'present' | Promise<void>>();
  private readonly limit = pLimit(MAX_REQUESTS);
  /** Requests share it. */
  private readonly lock = new SharedLock();
  private fetched = 0;

  constructor(private readonly options: BlockFetcherOptions) {}

  get fetchedBytes(): number {
    return this.fetched;
  }

  isFetched(block: number): boolean {
    return this.blocks.get(block) === 'present';
  }

  /** `ranges`, widened to whole blocks. */
  widen(ranges: ByteRanges): ByteRange[] {
    const { blockBytes, origin } = this.options;
    return mergeRanges(
      ranges.map(({ start, end }) => ({
        start: Math.max(Math.floor(start / blockBytes), 0) * blockBytes,
        end: Math.min(Math.ceil(end / blockBytes) * blockBytes, origin.sizeBytes),
      })),
    );
  }

  /** Resolves when all of `ranges` is present. */
  async load(ranges: ByteRanges): Promise<void> {
    const { blockBytes } = this.options;
    for (const [first, end] of this.missingRuns(ranges)) {
      const fetching = this.fetchBlocks(first, end);
      for (let block = first; block < end; block += 1) this.blocks.set(block, fetching);
      fetching.catch(() => {
        for (let block = first; block < end; block += 1) this.blocks.delete(block);
      });
    }
    const awaited = new Set<Promise<void>>();
    for (const { start, end } of ranges) {
      for (let block = Math.floor(start / blockBytes); block * blockBytes < end; block += 1) {
        const state = this.blocks.get(block);
        if (state && state !== 'present') awaited.add(state);
      }
    }
    await Promise.all(awaited);
  }

  /** Whether requests are under way. */
  get isBusy(): boolean {
    return this.lock.isShared;
  }

  untilIdle(): Promise<void> {
    return this.pauseFor(async () => undefined);
  }

  /** Runs `task` when no request is under way. Requests that come in the meantime wait for it. */
  pauseFor<T>(task: () => Promise<T>): Promise<T> {
    return this.lock.exclusive(task);
  }

  /** The blocks of `ranges` that are not yet requested, in runs of one request each. */
  private missingRuns(ranges: ByteRanges): [number, number][] {
    const { blocks } = this;
    const { blockBytes } = this.options;
    const maxGapBlocks = MAX_GAP_BYTES / blockBytes;
    const maxRequestBlocks = MAX_REQUEST_BYTES / blockBytes;
    const runs: [number, number][] = [];
    for (const { start, end } of ranges) {
      for (let block = Math.floor(start / blockBytes); block * blockBytes < end; block += 1) {
        if (blocks.has(block) || this.isStored(block)) continue;
        const last = runs.at(-1);
        if (last && block < last[1]) continue;
        const joins = last && block - last[1] <= maxGapBlocks && block - last[0] < maxRequestBlocks;
        const free =
          joins && Array.from({ length: block - last[1] }, (_, at) => last[1] + at).every((at) => !blocks.has(at));
        if (joins && free) last[1] = block + 1;
        else runs.push([block, block + 1]);
      }
    }
    return runs;
  }

  /** Whether the download has brought it. */
  private isStored(block: number): boolean {
    const { origin, blockBytes, readableBytes } = this.options;
    return Math.min((block + 1) * blockBytes, origin.sizeBytes) <= readableBytes();
  }

  private fetchBlocks(first: number, end: number): Promise<void> {
    return this.lock.shared(() => this.limit(() => this.request(first, end)));
  }

  private async request(first: number, end: number): Promise<void> {
    const { origin, blockBytes, signal, readableBytes, begin, put } = this.options;
    throwIfAborted(signal);
    await begin();
    let at = Math.max(first * blockBytes, readableBytes());
    const range = { start: at, end: Math.min(end * blockBytes, origin.sizeBytes) };
    for await (const chunk of at < range.end ? origin.read(range, signal) : []) {
      if (at + chunk.length > range.end) throw wrongLength(range, at + chunk.length);
      await put(at, chunk);
      at += chunk.length;
      this.fetched += chunk.length;
    }
    // What is missing would be read as zeros.
    if (at < range.end) throw wrongLength(range, at);
    for (let block = first; block < end; block += 1) this.blocks.set(block, 'present');
  }
}

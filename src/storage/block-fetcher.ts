import { throwIfAborted } from '../lib/abort.js';
import { type ByteRange, type ByteRanges, mergeRanges } from '../lib/byte-ranges.js';
import { KinoraError } from '../lib/errors.js';
import type { RangeOrigin } from './blob-store.js';

/** Blocks with a gap of at most this many bytes between them are fetched by one request, including the gap. */
const MAX_GAP_BYTES = 512 * 1024;
/** Limits the size of a request, so that long ranges are fetched over several connections. */
export const MAX_REQUEST_BYTES = 4 * 2 ** 20;
const MAX_REQUESTS = 4;

export interface BlockFetcherOptions {
  readonly origin: RangeOrigin;
  readonly blockBytes: number;
  readonly signal: AbortSignal;
  /** The number of bytes from the start that are present already. */
  readonly readableBytes: () => number;
  /** Called before every request. */
  readonly begin: () => Promise<void>;
  readonly put: (offset: number, chunk: Uint8Array) => Promise<void>;
}

/** Fetches the missing blocks of a file with holes; each block is fetched once. */
export interface BlockFetcher {
  /** Resolves when all of `ranges` is present. */
  bring(ranges: ByteRanges): Promise<void>;
  /** `ranges`, widened to whole blocks. */
  widen(ranges: ByteRanges): ByteRange[];
  isFetched(block: number): boolean;
  untilNoRequests(): Promise<void>;
  /** Requests under way. */
  readonly requests: number;
  readonly begunRequests: number;
  readonly fetchedBytes: number;
}

const wrongLength = ({ start, end }: ByteRange, received: number): KinoraError => {
  const reason = 'a range of another length than asked for';
  return new KinoraError('unavailable', {
    details: { stage: 'ranges', reason, start, end, received: received - start },
  });
};

export const createBlockFetcher = (options: BlockFetcherOptions): BlockFetcher => {
  const { origin, blockBytes, signal, readableBytes, begin, put } = options;
  const maxGapBlocks = MAX_GAP_BYTES / blockBytes;
  const maxRequestBlocks = MAX_REQUEST_BYTES / blockBytes;
  const blocks = new Map<number, 'present' | Promise<void>>();
  let fetchedBytes = 0;
  /** Those under way. */
  let requests = 0;
  let begunRequests = 0;
  /** Waiting downloads and requests, woken whenever a request ends. */
  let wake: (() => void)[] = [];

  const endOf = (block: number): number => Math.min((block + 1) * blockBytes, origin.sizeBytes);
  const isPresent = (block: number): boolean => blocks.get(block) === 'present' || endOf(block) <= readableBytes();
  const untilRequestEnds = (): Promise<void> => new Promise((resolve) => wake.push(resolve));

  const fetchBlocks = async (first: number, end: number): Promise<void> => {
    while (requests >= MAX_REQUESTS) await untilRequestEnds();
    throwIfAborted(signal);
    requests += 1;
    begunRequests += 1;
    try {
      await begin();
      let at = Math.max(first * blockBytes, readableBytes());
      const range = { start: at, end: Math.min(end * blockBytes, origin.sizeBytes) };
      for await (const chunk of at < range.end ? origin.read(range, signal) : []) {
        if (at + chunk.length > range.end) throw wrongLength(range, at + chunk.length);
        await put(at, chunk);
        at += chunk.length;
        fetchedBytes += chunk.length;
      }
      // What is missing would be read as zeros.
      if (at < range.end) throw wrongLength(range, at);
      for (let block = first; block < end; block += 1) blocks.set(block, 'present');
    } finally {
      requests -= 1;
      const waiting = wake;
      wake = [];
      for (const resume of waiting) resume();
    }
  };

  /** The blocks of `ranges` that are not yet requested, in runs of one request each. */
  const missingRuns = (ranges: ByteRanges): [number, number][] => {
    const runs: [number, number][] = [];
    for (const { start, end } of ranges) {
      for (let block = Math.floor(start / blockBytes); block * blockBytes < end; block += 1) {
        if (blocks.has(block) || isPresent(block)) continue;
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
  };

  return {
    bring: async (ranges) => {
      for (const [first, end] of missingRuns(ranges)) {
        const fetching = fetchBlocks(first, end);
        for (let block = first; block < end; block += 1) blocks.set(block, fetching);
        fetching.catch(() => {
          for (let block = first; block < end; block += 1) blocks.delete(block);
        });
      }
      const awaited = new Set<Promise<void>>();
      for (const { start, end } of ranges) {
        for (let block = Math.floor(start / blockBytes); block * blockBytes < end; block += 1) {
          const state = blocks.get(block);
          if (state && state !== 'present') awaited.add(state);
        }
      }
      await Promise.all(awaited);
    },
    widen: (ranges) =>
      mergeRanges(
        ranges.map(({ start, end }) => ({
          start: Math.max(Math.floor(start / blockBytes), 0) * blockBytes,
          end: Math.min(Math.ceil(end / blockBytes) * blockBytes, origin.sizeBytes),
        })),
      ),
    isFetched: (block) => blocks.get(block) === 'present',
    untilNoRequests: async () => {
      while (requests > 0) await untilRequestEnds();
    },
    get requests() {
      return requests;
    },
    get begunRequests() {
      return begunRequests;
    },
    get fetchedBytes() {
      return fetchedBytes;
    },
  };
};

import { open } from 'node:fs/promises';
import type { Clock } from '../lib/clock.js';
import { readFully } from '../lib/read-fully.js';
import type { LentContent } from './segment-store.js';

export interface HotFilesOptions {
  readonly maxBytes: number;
  readonly clock: Clock;
}

/**
 * Contents of cached files that several viewers request, in memory. A content that is being sent counts towards the
 * limit until its last reader has finished, so slow readers of many files can't exceed it.
 */
export interface HotFiles {
  /** Counts a request. Undefined when the file has to be read from the disk. */
  lend(path: string, sizeBytes: number): Promise<LentContent | undefined>;
  remove(path: string): void;
  stop(): void;
}

interface Content {
  readonly sizeBytes: number;
  readonly bytes: Promise<Buffer>;
  readers: number;
  usedMs: number;
  isRemoved: boolean;
}

/** A file is kept when the second request for it follows the first within this time. */
const REPEATED_WITHIN_MS = 60_000;
const MAX_REMEMBERED = 1000;
/** A file that was used within this time makes no room for another one: a set that doesn't fit would only be copied. */
const RECENT_MS = 10_000;
/** Unused contents are removed after this time, so that an idle server needs no more memory than before. */
const IDLE_MS = 60_000;
/** No file may take more than this part of the limit. */
const MAX_PART = 1 / 8;

export const createHotFiles = ({ maxBytes, clock }: HotFilesOptions): HotFiles => {
  // Both in order of last use: a Map iterates in insertion order.
  const requestedMs = new Map<string, number>();
  const contents = new Map<string, Content>();
  let heldBytes = 0;
  let sweep: NodeJS.Timeout | undefined;

  const isRepeated = (path: string, nowMs: number): boolean => {
    const beforeMs = requestedMs.get(path);
    requestedMs.delete(path);
    if (beforeMs !== undefined && nowMs - beforeMs <= REPEATED_WITHIN_MS) return true;
    requestedMs.set(path, nowMs);
    if (requestedMs.size > MAX_REMEMBERED) requestedMs.delete(requestedMs.keys().next().value!);
    return false;
  };

  const dropUnused = (content: Content): void => {
    if (content.isRemoved && content.readers === 0) heldBytes -= content.sizeBytes;
  };

  const remove = (path: string): void => {
    const content = contents.get(path);
    if (!content) return;
    contents.delete(path);
    content.isRemoved = true;
    dropUnused(content);
  };

  const removeUnused = (beforeMs: number, targetBytes: number): void => {
    for (const [path, { usedMs, readers }] of contents) {
      if (heldBytes <= targetBytes || usedMs > beforeMs) return;
      if (readers === 0) remove(path);
    }
  };

  const sweepLater = (): void => {
    sweep ??= setTimeout(() => {
      sweep = undefined;
      removeUnused(clock.monotonicMs() - IDLE_MS, 0);
      if (contents.size > 0) sweepLater();
    }, IDLE_MS / 2).unref();
  };

  const load = (path: string, sizeBytes: number, usedMs: number): Content => {
    const content = { sizeBytes, bytes: readContent(path, sizeBytes), readers: 0, usedMs, isRemoved: false };
    contents.set(path, content);
    heldBytes += sizeBytes;
    content.bytes.catch(() => {
      if (contents.get(path) === content) remove(path);
    });
    sweepLater();
    return content;
  };

  return {
    async lend(path, sizeBytes) {
      const nowMs = clock.monotonicMs();
      let content = contents.get(path);
      if (!content) {
        if (sizeBytes > maxBytes * MAX_PART || !isRepeated(path, nowMs)) return undefined;
        removeUnused(nowMs - RECENT_MS, maxBytes - sizeBytes);
        if (heldBytes + sizeBytes > maxBytes) return undefined;
        content = load(path, sizeBytes, nowMs);
      }
      const lent = content;
      contents.delete(path);
      contents.set(path, lent);
      lent.usedMs = nowMs;
      lent.readers += 1;
      const release = () => {
        lent.readers -= 1;
        dropUnused(lent);
      };
      try {
        return { bytes: await lent.bytes, release };
      } catch {
        release();
        // Reading it from the disk reports the failure.
        return undefined;
      }
    },
    remove,
    stop: () => clearTimeout(sweep),
  };
};

const readContent = async (path: string, sizeBytes: number): Promise<Buffer> => {
  const file = await open(path);
  try {
    const bytes = Buffer.allocUnsafeSlow(sizeBytes);
    await readFully(file, bytes, 0);
    return bytes;
  } finally {
    await file.close();
  }
};

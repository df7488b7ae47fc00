import type { LimitFunction } from 'p-limit';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { newId } from '../../lib/ids.js';
import { createInTurn } from '../../lib/in-turn.js';
import type { SharedState, WriteJournal } from '../blob-store.js';
import { readFileRange } from '../disk/read-file-range.js';
import { tailsPrefix } from '../keys.js';
import type { ObjectClient, ObjectInfo, UploadedPart } from './s3-client.js';

export interface SharedPartsOptions {
  readonly objects: ObjectClient;
  readonly key: string;
  /** The local file: has the bytes of the file at their positions, at least those after the recorded parts. */
  readonly path: string;
  /** Of a write that has no parts yet. */
  readonly partBytes: number;
  /** Shared by all writes: each request in flight takes up to the size of a part in memory. */
  readonly limit: LimitFunction;
  readonly journal: WriteJournal;
}

/** The bytes of a shared write in the store. */
export interface SharedParts {
  /** The token of the lease that saved the record. */
  readonly savedBy: string | null;
  /** The local file has this many bytes. Complete parts are sent. */
  available(bytes: number): void;
  /** @throws KinoraError `unavailable`, `upload_busy`; what could be stored is recorded */
  record(): Promise<void>;
  /** Makes the object of all available bytes. @throws KinoraError as `record`; `lacksParts` tells a lasting failure */
  complete(): Promise<ObjectInfo>;
  /** Forgets everything: another file follows. */
  restart(): Promise<void>;
  /** Waits for the requests under way. */
  settle(): Promise<void>;
  continueWith(journal: WriteJournal): boolean;
}

/** From here on, tails are merged. */
const MAX_TAILS = 8;
/** One change of the database reserves several part numbers. */
const RESERVED_AT_ONCE = 8;

const OTHER_SIZE = 'stored with another size';
/** Statuses of refusals that say nothing about the parts: credentials, time limits, load. */
const UNRELATED = [401, 403, 408, 429];

/** Whether `complete` failed because the store no longer has the parts as they were sent. */
export const lacksParts = (error: unknown): boolean => {
  if (!isKinoraError(error, 'unavailable')) return false;
  const { status, reason } = error.details ?? {};
  if (reason === OTHER_SIZE) return true;
  return typeof status === 'number' && status >= 400 && status < 500 && !UNRELATED.includes(status);
};

const receivedBytesOf = ({ parts, tails, partBytes }: Omit<SharedState, 'receivedBytes'>): number =>
  parts.length * (partBytes ?? 0) + tails.reduce((sum, { bytes }) => sum + bytes, 0);

/**
 * Keeps the bytes of a file that grows as parts of equal size, which all stores accept, and tails: write-once objects
 * with what does not fill a part when a request ends. A part replaces the tails that it contains.
 *
 * A server that has lost its lease may still send parts. It can't harm: each lease uses higher part numbers than all
 * leases before, and the object is completed from the recorded numbers.
 */
export const createSharedParts = (options: SharedPartsOptions): SharedParts => {
  const { objects, key, path, limit } = options;
  let { journal } = options;
  let { multipartId, parts, tails, reservedParts, savedBy } = journal.state;
  const partBytes = journal.state.partBytes ?? options.partBytes;
  /** Part `index` of the file has the number `index + shift`. */
  let shift = reservedParts + 1 - parts.length;
  let availableBytes = 0;
  /** Changes with `restart`: parts that were begun before are of no use. */
  let round = 0;
  let begun = parts.length;
  const sending = new Map<number, Promise<UploadedPart | undefined>>();
  const done = new Map<number, UploadedPart>();
  let unusedTails: string[] = [];
  let isSaving = false;
  const inTurn = createInTurn();

  const state = () => ({ multipartId, partBytes, parts, tails, reservedParts });
  const save = async (): Promise<void> => {
    const obsolete = unusedTails;
    unusedTails = [];
    await journal.save({ ...state(), receivedBytes: receivedBytesOf(state()) });
    savedBy = journal.token;
    // What fails is left to the end of the write.
    for (const tail of obsolete) limit(() => objects.delete(tail)).catch(() => undefined);
  };

  /** Another server must know of the upload and the number before a part exists. */
  const reserve = (number: number): Promise<string> =>
    inTurn(async () => {
      if (multipartId !== null && number <= reservedParts) return multipartId;
      multipartId ??= await objects.beginParts(key);
      reservedParts = Math.max(reservedParts, number + RESERVED_AT_ONCE - 1);
      await save();
      return multipartId;
    });
  const sendPart = async (index: number): Promise<UploadedPart> => {
    const number = index + shift;
    const id = await reserve(number);
    const start = index * partBytes;
    const bytes = await readFileRange(path, start, Math.min(partBytes, availableBytes - start));
    return objects.putPart(key, id, number, bytes);
  };
  const begin = (index: number): void => {
    const current = round;
    const part = limit(async () => (round === current ? sendPart(index) : undefined));
    sending.set(index, part);
    part.then(
      (sent) => {
        if (round !== current || !sent) return;
        sending.delete(index);
        done.set(index, sent);
        if (advance()) saveSoon();
      },
      // `record` sends it again.
      () => round === current && sending.delete(index),
    );
  };
  /** Takes over the parts that follow on the recorded ones; returns whether there are any. */
  const advance = (): boolean => {
    const before = parts.length;
    for (let sent = done.get(parts.length); sent; sent = done.get(parts.length)) {
      if ((parts.length + 1) * partBytes > availableBytes) break;
      done.delete(parts.length);
      parts = [...parts, sent];
    }
    if (parts.length === before) return false;
    unusedTails.push(...tails.map((tail) => tail.key));
    tails = [];
    return true;
  };
  /** So that a killed server loses little. */
  const saveSoon = (): void => {
    if (isSaving) return;
    isSaving = true;
    inTurn(async () => {
      isSaving = false;
      await save();
    }).catch(() => undefined);
  };

  const wholeParts = (): number => Math.floor(availableBytes / partBytes);
  const available = (bytes: number): void => {
    availableBytes = bytes;
    while (begun < wholeParts()) {
      begin(begun);
      begun += 1;
    }
  };
  /** Sends the parts up to `count` that are missing. @throws the first failure */
  const sendAll = async (count: number): Promise<void> => {
    for (let index = parts.length; index < count; index += 1) if (!sending.has(index) && !done.has(index)) begin(index);
    begun = Math.max(begun, wholeParts());
    const results = await Promise.allSettled(sending.values());
    advance();
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  };

  const putTail = async (): Promise<void> => {
    let start = receivedBytesOf(state());
    if (start >= availableBytes) return;
    const kept = [...tails];
    const merged: string[] = [];
    // Larger ones are kept, so that small requests don't send the same bytes again and again.
    if (kept.length >= MAX_TAILS)
      for (let last = kept.at(-1); last && last.bytes <= availableBytes - start; last = kept.at(-1)) {
        start -= last.bytes;
        merged.push(last.key);
        kept.pop();
      }
    const bytes = availableBytes - start;
    const tail = { key: `${tailsPrefix(key)}/${newId()}`, bytes };
    await limit(async () => objects.put(tail.key, await readFileRange(path, start, bytes)));
    tails = [...kept, tail];
    unusedTails.push(...merged);
  };

  const complete = async (): Promise<ObjectInfo> => {
    const count = Math.ceil(availableBytes / partBytes);
    await sendAll(count);
    const last = done.get(parts.length);
    const all = last && parts.length < count ? [...parts, last] : parts;
    // Another server may have taken over.
    await inTurn(save);
    try {
      await objects.completeParts(key, multipartId!, all);
    } catch (error) {
      // Its answer may have been lost.
      if ((await objects.stat(key))?.sizeBytes !== availableBytes) throw error;
    }
    const info = await objects.stat(key);
    if (info?.sizeBytes === availableBytes) return info;
    throw new KinoraError('unavailable', {
      details: { stage: 's3', key, reason: OTHER_SIZE, stored: info?.sizeBytes, availableBytes },
    });
  };

  const settle = async (): Promise<void> => {
    await Promise.allSettled(sending.values());
    await inTurn(async () => undefined);
  };
  const restart = async (): Promise<void> => {
    round += 1;
    await settle();
    const old = multipartId;
    sending.clear();
    done.clear();
    unusedTails.push(...tails.map((tail) => tail.key));
    [multipartId, parts, tails, reservedParts] = [null, [], [], 0];
    [shift, begun, availableBytes] = [1, 0, 0];
    await inTurn(save);
    // Now no other server can complete the old file.
    if (old !== null) await objects.abortParts(key, old);
  };

  return {
    get savedBy() {
      return savedBy;
    },
    available,
    record: async () => {
      const before = receivedBytesOf(state());
      try {
        await sendAll(wholeParts());
        await putTail();
        // Nothing is under way: the numbers after the last part are free again.
        reservedParts = parts.length - 1 + shift;
      } finally {
        if (receivedBytesOf(state()) !== before || isSaving) await inTurn(save);
      }
    },
    complete: () =>
      complete().catch((error: unknown) => {
        // It may be the last part, which is shorter.
        done.delete(Math.ceil(availableBytes / partBytes) - 1);
        throw error;
      }),
    restart,
    settle,
    continueWith: (next) => {
      if (next.state.savedBy !== savedBy || next.state.receivedBytes !== availableBytes) return false;
      journal = next;
      shift = next.state.reservedParts + 1 - parts.length;
      reservedParts = next.state.reservedParts;
      return true;
    },
  };
};

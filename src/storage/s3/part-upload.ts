import type { LimitFunction } from 'p-limit';
import { KinoraError } from '../../lib/errors.js';
import { readFileRange } from '../disk/read-file-range.js';
import type { ObjectClient, ObjectInfo, UploadedPart } from './s3-client.js';

/** Parts of equal size, which some stores demand; they all demand at least 5 MiB. */
export const PART_BYTES = 16 * 2 ** 20;
const MAX_PARTS = 10_000;
const MAX_TRIES = 3;

export interface PartUploadOptions {
  readonly objects: ObjectClient;
  readonly key: string;
  /** The file, which grows. What it has never changes, until `stored` gets a lower number. */
  readonly path: string;
  /** Shared by all uploads: each part in flight takes its size in memory. */
  readonly limit: LimitFunction;
}

/** Uploads a file while it is being written. */
export interface PartUpload {
  /** The file has this many bytes; less than before when it begins again. */
  stored(bytes: number): void;
  /**
   * Makes the object of the whole file. A call after a failure uploads what is missing.
   * @throws KinoraError `unavailable`
   */
  finish(): Promise<ObjectInfo>;
  /** Uploads everything that is stored, so that `finish` is short. */
  settle(): Promise<void>;
  /** Removes what is not finished. */
  abort(): void;
}

/** One multipart upload: its parts by number. */
interface Session {
  readonly id: Promise<string>;
  readonly parts: Map<number, Promise<UploadedPart | undefined>>;
  /** The highest number so far. */
  begun: number;
}

export const createPartUpload = ({ objects, key, path, limit }: PartUploadOptions): PartUpload => {
  let session: Session | undefined;
  let storedBytes = 0;
  let partBytes = PART_BYTES;

  const sendPart = async ({ id }: Session, number: number): Promise<UploadedPart | undefined> => {
    const start = (number - 1) * partBytes;
    const bytes = await readFileRange(path, start, Math.min(partBytes, storedBytes - start));
    return objects.putPart(key, await id, number, bytes);
  };
  const open = (): Session => {
    if (session) return session;
    const id = objects.beginParts(key);
    id.catch(() => undefined);
    session = { id, parts: new Map(), begun: 0 };
    return session;
  };
  const begin = (current: Session, number: number): void => {
    const sending = limit(async () => (session === current ? sendPart(current, number) : undefined));
    current.parts.set(number, sending);
    current.begun = Math.max(current.begun, number);
    // `settle` sends it again.
    sending.catch(() => current.parts.delete(number));
  };
  const abort = (): void => {
    const old = session;
    session = undefined;
    if (!old) return;
    // The parts under way would be stored after the end.
    Promise.allSettled(old.parts.values())
      .then(() => old.id)
      .then((id) => objects.abortParts(key, id))
      // Left to the lifecycle rule of the bucket.
      .catch(() => undefined);
  };
  const settle = async (): Promise<Session | undefined> => {
    if (storedBytes > partBytes * MAX_PARTS) {
      abort();
      partBytes = Math.ceil(storedBytes / MAX_PARTS);
    }
    if (storedBytes <= partBytes && !session) return undefined;
    const current = open();
    for (let number = 1; number <= Math.ceil(storedBytes / partBytes); number += 1)
      if (!current.parts.has(number)) begin(current, number);
    try {
      await Promise.all([current.id, ...current.parts.values()]);
    } catch (error) {
      if (await isLost(current.id)) session = undefined;
      throw error;
    }
    return current;
  };
  const complete = async (): Promise<void> => {
    const current = await settle();
    if (!current) {
      await objects.put(key, await readFileRange(path, 0, storedBytes));
      return;
    }
    const parts = (await Promise.all(current.parts.values())).filter((part) => part !== undefined);
    parts.sort((one, other) => one.number - other.number);
    try {
      await objects.completeParts(key, await current.id, parts);
      session = undefined;
    } catch (error) {
      // The store has other parts than it confirmed, or its answer was lost. Which one, `finish` finds out.
      abort();
      throw error;
    }
  };

  return {
    stored: (bytes) => {
      if (bytes < storedBytes) abort();
      storedBytes = bytes;
      // The last part is known only at the end.
      const whole = Math.min(Math.ceil(bytes / partBytes) - 1, MAX_PARTS);
      if (whole < 1) return;
      const current = open();
      while (current.begun < whole) begin(current, current.begun + 1);
    },
    settle: async () => {
      // A failure shows again in `finish`.
      await settle().catch(() => undefined);
    },
    finish: async () => {
      for (let tries = 1; ; tries += 1) {
        try {
          await complete();
          const info = await objects.stat(key);
          if (info?.sizeBytes === storedBytes) return info;
          throw new KinoraError('unavailable', {
            details: { stage: 's3', key, reason: 'stored with another size', stored: info?.sizeBytes, storedBytes },
          });
        } catch (error) {
          if (tries >= MAX_TRIES) throw error;
        }
      }
    },
    abort,
  };
};

const isLost = (id: Promise<string>): Promise<boolean> =>
  id.then(
    () => false,
    () => true,
  );

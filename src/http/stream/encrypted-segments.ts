import { type FileHandle, open, readFile } from 'node:fs/promises';
import type { CachedFile } from '../../cache/cached-files.js';
import type { HotForm } from '../../cache/hot-files.js';
import type { AssetKeys } from '../../domain/drm/content-keys.js';
import type { KeyTrack } from '../../domain/drm/key-source.js';
import { psshBoxesOf } from '../../domain/drm/key-tags.js';
import { readFully } from '../../lib/read-fully.js';
import { CbcsCipher, type CbcsKey } from '../../media/mp4/cbcs.js';
import { encryptInit, parameterSetsOf } from '../../media/mp4/encrypt-init.js';
import {
  type EncryptionPlan,
  encryptPart,
  endOfWhole,
  planEncryption,
  startOfWhole,
} from '../../media/mp4/encrypt-segment.js';
import type { PlayableAsset } from '../../packager/playable-asset.js';
import type { SegmentProducer } from '../../packager/segment-producer.js';
import type { ByteRange } from './byte-range.js';
import type { BufferPair } from './part-buffers.js';
import type { SentFile } from './send-file.js';
import type { ReadPart } from './write-range.js';

/**
 * Each has about 10 KB. It is reused when a segment is requested again, also through another DRM
 * configuration.
 */
const MAX_PLANS = 1000;
/** So much is read and encrypted at a time, so that other requests are served in between. */
const PIECE_BYTES = 2 ** 20;

/**
 * Encrypts segments for DRM playback IDs while they are sent. The disk cache stores them
 * unencrypted. Those that are requested repeatedly are encrypted once, and the copy in memory is
 * sent to all viewers of a configuration.
 */
export class EncryptedSegments {
  readonly #producer: Pick<SegmentProducer, 'segment'>;
  readonly #plans = new Map<string, Promise<EncryptionPlan>>();

  constructor(producer: Pick<SegmentProducer, 'segment'>) {
    this.#producer = producer;
  }

  /** The encrypted form of `init.mp4` or `<number>.m4s`. */
  async encrypt(
    asset: PlayableAsset,
    { rendition, file, track }: { readonly rendition: string; readonly file: string; readonly track: KeyTrack },
    cached: CachedFile,
    keys: AssetKeys,
  ): Promise<SentFile> {
    const key = keys[track];
    const kid = Buffer.from(key.kid).toString('hex');
    const etag = `${cached.etag.slice(0, -1)}-${kid.slice(0, 8)}"`;
    if (file === 'init.mp4') {
      const { iv } = key;
      const bytes = encryptInit(await readFile(cached.path), { kid: key.kid, iv, pssh: psshBoxesOf(keys, track) });
      return { sizeBytes: bytes.length, etag, acquire: async () => ({ bytes, release: () => undefined }) };
    }
    const plan = await this.#planOf(asset, rendition, cached);
    const { path } = cached;
    const { sizeBytes } = plan;
    // The keys of an asset never change within a configuration; another one may use a key ID again.
    const name = `${keys.configurationId} ${kid}`;
    const form: HotForm = { name, sizeBytes, write: () => encryptWhole(path, plan, key) };
    return {
      path,
      sizeBytes,
      etag,
      acquire: cached.acquire && (() => cached.acquire!(form)),
      read: (handle, range, buffers) => readEncrypted(handle, range, buffers, plan, new CbcsCipher(key)),
    };
  }

  #planOf(asset: PlayableAsset, rendition: string, cached: CachedFile): Promise<EncryptionPlan> {
    const name = `${asset.id} ${rendition} ${cached.etag}`;
    const before = this.#plans.get(name);
    const plan = before ?? this.#readPlan(asset, rendition, cached);
    // In order of last use, so that one whose segment is in memory stays.
    this.#plans.delete(name);
    this.#plans.set(name, plan);
    if (before) return before;
    if (this.#plans.size > MAX_PLANS) this.#plans.delete(this.#plans.keys().next().value!);
    plan.catch(() => this.#plans.delete(name));
    return plan;
  }

  async #readPlan(asset: PlayableAsset, rendition: string, { path }: CachedFile): Promise<EncryptionPlan> {
    const init = await this.#producer.segment(asset, rendition, 'init.mp4');
    return planEncryption(await readFile(path), parameterSetsOf(await readFile(init.path)));
  }
}

/** The whole encrypted segment. */
const encryptWhole = async (path: string, plan: EncryptionPlan, key: CbcsKey): Promise<Uint8Array> => {
  const { head, bodyStart, sizeBytes } = plan;
  const cipher = new CbcsCipher(key);
  const toClear = bodyStart - head.length;
  const bytes = Buffer.allocUnsafeSlow(sizeBytes);
  bytes.set(head);
  const file = await open(path);
  try {
    for (let start = bodyStart; start < sizeBytes + toClear; ) {
      const end = endOfWhole(plan, Math.min(start + PIECE_BYTES, sizeBytes + toClear));
      const piece = bytes.subarray(start - toClear, end - toClear);
      await readFully(file, piece, start);
      encryptPart(plan, cipher, piece, start);
      start = end;
    }
  } finally {
    await file.close();
  }
  return bytes;
};

/**
 * Reads a part of the encrypted segment: reads the clear segment alternately into two buffers and
 * encrypts it in place.
 */
const readEncrypted = (
  file: FileHandle,
  asked: ByteRange,
  buffers: BufferPair,
  plan: EncryptionPlan,
  cipher: CbcsCipher,
): ReadPart => {
  const { head, bodyStart } = plan;
  const toClear = bodyStart - head.length;
  const until = asked.end + 1 + toClear;
  return async (offset) => {
    const first = asked.start + offset;
    if (first < head.length) return head.subarray(first, Math.min(head.length, asked.end + 1));
    const from = first + toClear;
    const start = startOfWhole(plan, from);
    const buffer = buffers.next();
    const fitting =
      endOfWhole(plan, until) - start <= buffer.length ? until : startOfWhole(plan, start + buffer.length);
    // A slice that is larger than the buffer needs one of its own.
    const end = endOfWhole(plan, fitting > from ? fitting : from + 1);
    const part = end - start <= buffer.length ? buffer.subarray(0, end - start) : Buffer.allocUnsafeSlow(end - start);
    await readFully(file, part, start);
    encryptPart(plan, cipher, part, start);
    return part.subarray(from - start, Math.min(end, until) - start);
  };
};

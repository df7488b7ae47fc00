import { readFile } from 'node:fs/promises';
import type { CachedFile } from '../../cache/cached-files.js';
import type { AssetKeys } from '../../domain/drm/content-keys.js';
import type { KeyTrack } from '../../domain/drm/key-source.js';
import { psshBoxesOf } from '../../domain/drm/key-tags.js';
import { CbcsCipher } from '../../media/mp4/cbcs.js';
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
import type { ReadContent, ReadPart } from './write-range.js';

/**
 * Each has about 10 KB. It is reused when a segment is requested again, also through another DRM
 * configuration.
 */
const MAX_PLANS = 1000;

/**
 * Encrypts segments for DRM playback IDs while they are sent. The cache stores them unencrypted.
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
    const etag = `${cached.etag.slice(0, -1)}-${Buffer.from(key.kid).toString('hex').slice(0, 8)}"`;
    if (file === 'init.mp4') {
      const { kid, iv } = key;
      const bytes = encryptInit(await readFile(cached.path), { kid, iv, pssh: psshBoxesOf(keys, track) });
      const read =
        (_: ReadContent, { start, end }: ByteRange) =>
        async () =>
          bytes.subarray(start, end + 1);
      return { path: cached.path, sizeBytes: bytes.length, etag, read };
    }
    const plan = await this.#planOf(asset, rendition, cached);
    const cipher = new CbcsCipher(key);
    return {
      path: cached.path,
      sizeBytes: plan.sizeBytes,
      etag,
      acquire: cached.acquire,
      read: (content, range, buffers) => readEncrypted(content, range, buffers, plan, cipher),
    };
  }

  #planOf(asset: PlayableAsset, rendition: string, cached: CachedFile): Promise<EncryptionPlan> {
    const name = `${asset.id} ${rendition} ${cached.etag}`;
    const before = this.#plans.get(name);
    if (before) return before;
    const plan = this.#readPlan(asset, rendition, cached);
    this.#plans.set(name, plan);
    if (this.#plans.size > MAX_PLANS) this.#plans.delete(this.#plans.keys().next().value!);
    plan.catch(() => this.#plans.delete(name));
    return plan;
  }

  async #readPlan(asset: PlayableAsset, rendition: string, { path }: CachedFile): Promise<EncryptionPlan> {
    const init = await this.#producer.segment(asset, rendition, 'init.mp4');
    return planEncryption(await readFile(path), parameterSetsOf(await readFile(init.path)));
  }
}

/**
 * Reads a part of the encrypted segment: reads the clear segment alternately into two buffers and
 * encrypts it in place.
 */
const readEncrypted = (
  readContent: ReadContent,
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
    await readContent(part, start);
    encryptPart(plan, cipher, part, start);
    return part.subarray(from - start, Math.min(end, until) - start);
  };
};

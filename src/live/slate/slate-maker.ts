import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { withTemporaryFile } from '../../lib/temporary-file.js';
import { readAudioSpecificConfig, silentAacFrame } from '../../media/codecs/aac.js';
import { readAvcc } from '../../media/codecs/avc.js';
import { findFreeParameterSetId } from '../../media/codecs/avc-parameter-sets.js';
import { LIVE_TIMESCALE } from '../../media/live/frame-grid.js';
import { type LiveVideoFacts, readLiveVideo } from '../../media/live/stream-facts.js';
import { verifyFragment } from '../../media/mp4/fragment-verifier.js';
import { readFragment } from '../../media/mp4/read-cmaf.js';
import { OVERLAY_HEADER_BYTES, RGBA_BYTES, readOverlayHeader } from '../../media/overlay/file.js';
import type { Rational } from '../../media/source/source-facts.js';
import type { SourceFetcher } from '../../net/fetch-source.js';
import { type MediaPool, mediaPriority } from '../../pool/media-pool.js';
import type { SlateJob } from '../../pool/protocol.js';
import { readResult } from '../../pool/read-result.js';
import type { BlobStore } from '../../storage/blob-store.js';
import { slateImageKey } from '../../storage/keys.js';
import type { ContentFormat } from '../recording/packet-cutter.js';

export interface SlateMakerDeps {
  readonly pool: Pick<MediaPool, 'run'>;
  readonly fetcher: SourceFetcher;
  readonly blobs: BlobStore;
  /** The directory that media processes write to. */
  readonly temporaryDir: string;
}

/** What fills a recording while its encoder is away: frames that are repeated. */
export interface SlateMedia {
  readonly video?: {
    /** avcC record. */
    readonly record: Uint8Array;
    /** One closed GOP without B frames. */
    readonly frames: readonly Uint8Array[];
    readonly frameRate: Rational;
  };
  readonly audio?: {
    /** AudioSpecificConfig. */
    readonly record: Uint8Array;
    readonly sampleRate: number;
    readonly silence: Uint8Array;
  };
}

/** Key frames come as often as encoders are advised to send them. */
const GOP_SECONDS = 2;
const DEFAULT_RATE: Rational = { num: 30, den: 1 };
const MAX_SIDE = 4096;
const MAX_IMAGE_BYTES = 32 * 2 ** 20;
const MAX_GOP_BYTES = 64 * 2 ** 20;
/** Players need it as soon as the encoder is away; what somebody waits for goes first. */
const PRIORITY = mediaPriority.nextSegment;
const PROFILES: Readonly<Record<number, SlateJob['profile']>> = { 66: 'baseline', 77: 'main' };

/** Makes slates for what encoders send. */
export class SlateMaker {
  readonly #deps: SlateMakerDeps;

  constructor(deps: SlateMakerDeps) {
    this.#deps = deps;
  }

  /**
   * Fetches the image of an asset's slate, unless that was done before.
   * @throws KinoraError as `SourceFetcher.fetch`
   */
  async fetchImage(assetId: string, url: string, signal: AbortSignal): Promise<void> {
    const { blobs, fetcher } = this.#deps;
    const key = slateImageKey(assetId);
    if (await blobs.stat(key)) return;
    await fetcher.fetch(url, await blobs.resumeWrite(key), { signal, maxBytes: MAX_IMAGE_BYTES });
  }

  /** After the broadcast. */
  async removeImage(assetId: string): Promise<void> {
    await this.#deps.blobs.delete(slateImageKey(assetId));
  }

  /**
   * The slate for content of this format, with the image that was fetched or the default one.
   * Undefined for video of another codec than H.264, which no decoder could go on with.
   * @throws KinoraError `media_failed` or `media_crashed`, also when the image can't be used;
   * `cancelled`, `unavailable`
   */
  async make(
    assetId: string,
    { video, audio }: ContentFormat,
    { usesImage, signal }: { readonly usesImage: boolean; readonly signal: AbortSignal },
  ): Promise<SlateMedia | undefined> {
    const config = audio && readAudioSpecificConfig(audio.record);
    const silence = config && silentAacFrame(config);
    const silent = silence && { audio: { record: audio.record, sampleRate: config.sampleRate, silence } };
    if (!video) return silent;
    if (video.facts.codec !== 'avc') return undefined;
    const frameRate = video.frameRate ?? DEFAULT_RATE;
    const encode = (imagePath?: string): Promise<SlateMedia['video']> =>
      this.#encode(video.facts, { frameRate, imagePath, signal });
    const encoded = usesImage ? await this.#withPixels(assetId, video.facts, { signal, task: encode }) : await encode();
    return { video: encoded, ...silent };
  }

  /** Decodes the image in a process of its own, because it may be hostile. */
  async #withPixels<T>(
    assetId: string,
    { width, height }: LiveVideoFacts,
    { signal, task }: { readonly signal: AbortSignal; readonly task: (path: string) => Promise<T> },
  ): Promise<T> {
    const { blobs, pool, temporaryDir } = this.#deps;
    const image = await blobs.openLocal(slateImageKey(assetId));
    try {
      return await withTemporaryFile(temporaryDir, async (outPath) => {
        const size = { maxSide: MAX_SIDE, maxWidth: width, maxHeight: height };
        await pool.run(
          { kind: 'overlay-image', source: { path: image.path }, ...size, outPath },
          { priority: PRIORITY, signal, fresh: true },
        );
        // The process's report is not trusted: the file itself is checked.
        const pixels = await readResult(outPath, MAX_SIDE * MAX_SIDE * RGBA_BYTES + OVERLAY_HEADER_BYTES);
        if (!readOverlayHeader(pixels, pixels.length)) throw failed('no pixels');
        return task(outPath);
      });
    } finally {
      await image.release();
    }
  }

  async #encode(
    content: LiveVideoFacts,
    { frameRate, imagePath, signal }: { frameRate: Rational; imagePath: string | undefined; signal: AbortSignal },
  ): Promise<SlateMedia['video']> {
    const { pool, temporaryDir } = this.#deps;
    const { width, height, record } = content;
    const frames = Math.max(2, Math.round((GOP_SECONDS * frameRate.num) / frameRate.den));
    return withTemporaryFile(temporaryDir, async (outPath) => {
      const { avcc } = await pool.run(
        {
          kind: 'slate',
          ...(imagePath !== undefined && { imagePath }),
          ...{ width, height, frameRate, frames, outPath },
          profile: PROFILES[readAvcc(record)?.profile ?? 0] ?? 'high',
          // Different ones, so that a decoder can have both.
          parameterSetId: findFreeParameterSetId(record) ?? 0,
        },
        { priority: PRIORITY, signal },
      );
      const encoded = Buffer.from(avcc, 'base64');
      const facts = readLiveVideo('avc', encoded);
      if (facts?.width !== width || facts.height !== height) throw failed('another size');
      const bytes = await readResult(outPath, MAX_GOP_BYTES);
      const durationTicks = Math.round((frames * LIVE_TIMESCALE * frameRate.den) / frameRate.num);
      verifyFragment(bytes, { baseDecodeTicks: 0, durationTicks, sampleCount: frames, firstSync: true });
      const { samples, data } = readFragment(bytes, 0);
      let offset = 0;
      const units = samples.map(({ sizeBytes }) => {
        offset += sizeBytes;
        return data.subarray(offset - sizeBytes, offset);
      });
      return { record: encoded, frames: units, frameRate };
    });
  }
}

const failed = (reason: string): KinoraError =>
  new KinoraError('media_failed', { details: { stage: 'slate', reason } });

/** Why the image can't be used, for the owner; undefined for an error that is not about it. */
export const explainImageFailure = (error: unknown): string | undefined => {
  if (isKinoraError(error, 'invalid_input') || isKinoraError(error, 'source_unreachable')) return error.messages[0];
  if (isKinoraError(error, 'media_failed') || isKinoraError(error, 'media_crashed'))
    return `It is not a readable PNG, JPEG, WebP or GIF image of at most ${MAX_SIDE}x${MAX_SIDE} pixels.`;
  return undefined;
};

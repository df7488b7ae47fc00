import { writeFile } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';
import type { LiveFeed, LiveStill, LiveStills } from '../../domain/playback/live-feed.js';
import type { Clock } from '../../lib/clock.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { withTemporaryFile } from '../../lib/temporary-file.js';
import { planStill, type StillLayout, stillSize, ticksAt } from '../../media/image/geometry.js';
import type { ThumbnailParameters } from '../../media/image/parameters.js';
import { verifyImage } from '../../media/image/verifier.js';
import { decodingStart, type LiveSegment } from '../../media/live/live-track.js';
import type { Size } from '../../media/plan/ladder.js';
import type { VideoFilters } from '../../media/plan/plan.js';
import { CrashQuarantine } from '../../packager/crash-quarantine.js';
import { MEDIA_THREADS } from '../../packager/segment-jobs.js';
import { type MediaPool, mediaPriority } from '../../pool/media-pool.js';
import type { StillFormat } from '../../pool/protocol.js';
import { readResult } from '../../pool/read-result.js';

export interface RecordedStillsDeps {
  readonly pool: Pick<MediaPool, 'run'>;
  /** The directory that media processes read and write. */
  readonly temporaryDir: string;
  readonly clock: Clock;
}

interface RecordedVideo {
  readonly feed: LiveFeed;
  /** The track that was recorded. */
  readonly copyName: string;
  readonly filters: VideoFilters;
  /** Of the frames as they are displayed. */
  readonly size: Size;
}

/** The newest frame is made once in this time, however many ask for it. */
const FRESH_MS = 2_000;
/** Of images in memory. They are small, and those of a moment ago are of no use on a disk. */
const KEPT_BYTES = 16 * 2 ** 20;
/** The largest lossless still: 4096 x 4096 of noise. */
const MAX_IMAGE_BYTES = 64 * 2 ** 20;
/** An encoder that sends no key frames must not make each image a decode of hours. */
const MAX_SOURCE_BYTES = 64 * 2 ** 20;
/** The demuxer of a fragmented MP4. */
const FORMAT = 'mov,mp4,m4a,3gp,3g2,mj2';

/** A frame in the recording. */
interface Place {
  readonly segment: number;
  readonly ticks: number;
  readonly isFinal: boolean;
}

interface MadeStill extends LiveStill {
  readonly madeMs: number;
}

/** Images of what is recorded, decoded from the last key frame before them. */
export class RecordedStills implements LiveStills {
  readonly #deps: RecordedStillsDeps;
  readonly #video: RecordedVideo;
  readonly #crashes: CrashQuarantine;
  readonly #made = new LRUCache<string, MadeStill>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ bytes }) => bytes.length + 1,
  });
  readonly #running = new Map<string, Promise<LiveStill>>();

  constructor(deps: RecordedStillsDeps, video: RecordedVideo) {
    this.#deps = deps;
    this.#video = video;
    this.#crashes = new CrashQuarantine(deps.clock);
  }

  get size(): Size {
    return this.#video.size;
  }

  async get(parameters: ThumbnailParameters, format: StillFormat): Promise<LiveStill> {
    const layout = planStill(this.size, parameters);
    const place = this.#find(parameters.timeSeconds);
    const key = JSON.stringify([parameters.timeSeconds === undefined ? 'newest' : place.ticks, layout, format]);
    const still = this.#made.get(key);
    if (still && (still.isFinal || this.#nowMs() - still.madeMs < FRESH_MS)) return still;
    const running = this.#running.get(key);
    if (running) return running;
    const making = this.#make(place, layout, format).finally(() => this.#running.delete(key));
    this.#running.set(key, making);
    this.#made.set(key, { ...(await making), madeMs: this.#nowMs() });
    return making;
  }

  #nowMs(): number {
    return this.#deps.clock.monotonicMs();
  }

  get #segments(): readonly LiveSegment[] {
    return this.#video.feed.track(this.#video.copyName)!.segments;
  }

  /** @throws KinoraError `unavailable` */
  #find(seconds: number | undefined): Place {
    const segments = this.#segments;
    const { timescale } = this.#video.feed.track(this.#video.copyName)!.info;
    const targetTicks = seconds === undefined ? Number.POSITIVE_INFINITY : ticksAt(seconds, timescale);
    // Older segments list no parts.
    const hasFrames = ({ complete, gap, parts }: LiveSegment): boolean => (complete ? !gap : parts.length > 0);
    const segment =
      segments.findLast((each) => hasFrames(each) && each.startTicks <= targetTicks) ?? segments.find(hasFrames);
    if (!segment) throw new KinoraError('unavailable', { details: { reason: 'no frame was recorded' } });
    const endTicks = segment.startTicks + segment.durationTicks;
    return {
      segment: segment.number,
      ticks: Math.max(segment.startTicks, Math.min(targetTicks, endTicks - 1)),
      isFinal: segment.complete && targetTicks < endTicks,
    };
  }

  async #make(place: Place, layout: StillLayout, format: StillFormat): Promise<LiveStill> {
    const { pool, temporaryDir } = this.#deps;
    const { feed, copyName, filters } = this.#video;
    const { timescale } = feed.track(copyName)!.info;
    const [source, segment] = [feed.assetId, String(place.segment)];
    this.#crashes.check(source, segment);
    const recorded = await this.#read(place.segment);
    return withTemporaryFile(temporaryDir, (path) =>
      withTemporaryFile(temporaryDir, async (outPath) => {
        await writeFile(path, recorded);
        try {
          await pool.run(
            {
              kind: 'still',
              source: { path, formatName: FORMAT },
              streamIndex: 0,
              timeBase: { num: 1, den: timescale },
              originTicks: 0,
              lastFrameTicks: place.ticks,
              ticks: place.ticks,
              ...{ filters, layout, format, outPath },
              threads: MEDIA_THREADS,
            },
            { priority: mediaPriority.viewer },
          );
        } catch (error) {
          if (isKinoraError(error, 'media_crashed')) this.#crashes.count(source, segment);
          throw error;
        }
        const bytes = await readResult(outPath, MAX_IMAGE_BYTES);
        verifyImage(bytes, format, stillSize(layout));
        return { bytes, isFinal: place.isFinal };
      }),
    );
  }

  /**
   * The recorded file from the last key frame before the end of a segment.
   * @throws KinoraError `unavailable`
   */
  async #read(number: number): Promise<Uint8Array> {
    const { feed, copyName } = this.#video;
    const segments = this.#segments;
    const at = segments.findIndex((each) => each.number === number);
    const pieces = [feed.init(copyName, segments[at]!.config)!];
    let sizeBytes = 0;
    for (const segment of segments.slice(decodingStart(segments, at), at + 1)) {
      const read = (await this.#readParts(segment)).filter((piece) => piece !== undefined);
      pieces.push(...read);
      sizeBytes += read.reduce((sum, { length }) => sum + length, 0);
      if (sizeBytes > MAX_SOURCE_BYTES)
        throw new KinoraError('unavailable', { details: { reason: 'the last key frame is too far away' } });
    }
    return Buffer.concat(pieces);
  }

  async #readParts({ number, complete, parts }: LiveSegment): Promise<readonly (Uint8Array | undefined)[]> {
    const { feed, copyName } = this.#video;
    if (complete) return [await feed.read(copyName, number)];
    return Promise.all(parts.map((_, part) => feed.read(copyName, number, part)));
  }
}

/** A broadcast that a test lets grow part by part, made of a fixture's video. */
import type { LiveFeed } from '#kinora/domain/playback/live-feed.js';
import type { LivePart, LiveSegment, LiveTrackState } from '#kinora/media/live/live-track.js';
import { writeFragment, writeVideoInit } from '#kinora/media/mp4/cmaf.js';
import { findReorderTicks, planSampleTimes } from '#kinora/media/plan/sample-times.js';
import type { VideoFacts } from '#kinora/media/source/source-facts.js';
import { type EncodedName, fixture } from './fixtures.js';
import { readPacketBytes, readPackets } from './measure.js';
import { probeFile } from './video-run.js';

const TIMESCALE = 90_000;
export const FIRST_SEGMENT = 7;

interface Frame {
  readonly ticks: number;
  readonly isKey: boolean;
  readonly data: Buffer;
}

interface FakePart extends LivePart {
  readonly bytes: Uint8Array;
}

export interface FakeFeedOptions {
  /** Frames of a part; the default is 10. */
  readonly partFrames?: number;
  /** Segments that begin without a key frame are made of half GOPs. */
  readonly halfGops?: boolean;
  readonly name?: string;
}

const configOf = ({ codec, avcc, decoderConfig, width, height }: VideoFacts, reorderTicks: number): Uint8Array => {
  const track = { timescale: TIMESCALE, width, height, reorderTicks };
  if (codec === 'hevc' || codec === 'av1')
    return writeVideoInit({ ...track, codec, config: Buffer.from(decoderConfig!, 'base64') });
  return writeVideoInit({ ...track, avcc: Buffer.from(avcc!, 'base64') });
};

export class FakeLiveFeed implements LiveFeed {
  readonly assetId = 'broadcast';
  readonly times = { latencyMode: 'low', targetSeconds: 4, partTargetSeconds: 0.35 } as const;
  readonly firstDiscontinuity = 0;
  readonly captions = [];
  readonly trackNames: readonly string[];
  private segments: LiveSegment[] = [];
  private state: LiveTrackState;
  private shown = 0;
  private isSuspended = false;
  private readonly waiting = new Set<() => void>();

  static async open(name: EncodedName, options: FakeFeedOptions = {}): Promise<FakeLiveFeed> {
    const path = await fixture(name);
    const { video } = await probeFile(path);
    const data = readPacketBytes(path);
    const frames = readPackets(path)
      .filter(({ streamIndex }) => streamIndex === 0)
      .map(({ ptsSeconds, keyFrame }, index) => ({
        ticks: Math.round(ptsSeconds * TIMESCALE),
        isKey: keyFrame,
        data: data[index]!,
      }));
    return new FakeLiveFeed(video!, frames, options);
  }

  private readonly parts: FakePart[][];
  private readonly starts: number[];
  private readonly reorderTicks: number;
  private readonly independent: boolean[] = [];

  private constructor(
    private readonly video: VideoFacts,
    frames: readonly Frame[],
    options: FakeFeedOptions,
  ) {
    const { partFrames = 10, halfGops = false, name = '480p' } = options;
    const first = Math.min(...frames.map(({ ticks }) => ticks));
    const last = Math.max(...frames.map(({ ticks }) => ticks));
    const frameTicks = Math.round((last - first) / (frames.length - 1));
    const gops: Frame[][] = [];
    for (const frame of frames) {
      if (frame.isKey) gops.push([]);
      gops.at(-1)!.push({ ...frame, ticks: frame.ticks - first });
    }
    const startOf = (gop: readonly Frame[]): number => Math.min(...gop.map(({ ticks }) => ticks));
    const ends = gops.map((_, index) => (gops[index + 1] ? startOf(gops[index + 1]!) : last - first + frameTicks));
    this.reorderTicks = Math.max(
      ...gops.map((gop, index) =>
        findReorderTicks(
          gop.map(({ ticks }) => ticks),
          startOf(gop),
          ends[index]!,
        ),
      ),
    );
    this.parts = [];
    this.starts = [];
    gops.forEach((gop, index) => {
      const start = startOf(gop);
      const times = planSampleTimes(
        gop.map(({ ticks }) => ticks),
        start,
        ends[index]!,
        this.reorderTicks,
      );
      const parts: FakePart[] = [];
      let decodeTicks = start;
      for (let at = 0; at < gop.length; at += partFrames) {
        const samples = gop.slice(at, at + partFrames);
        const partTimes = times.slice(at, at + partFrames);
        const bytes = writeFragment({
          sequence: index + 1,
          baseDecodeTicks: decodeTicks,
          samples: samples.map((frame, i) => ({ ...partTimes[i]!, sizeBytes: frame.data.length, sync: frame.isKey })),
          data: samples.map((frame) => frame.data),
        });
        const durationTicks = partTimes.reduce((sum, each) => sum + each.durationTicks, 0);
        parts.push({ durationTicks, independent: at === 0, sizeBytes: bytes.length, bytes });
        decodeTicks += durationTicks;
      }
      const half = halfGops ? Math.ceil(parts.length / 2) : parts.length;
      this.starts.push(start);
      this.independent.push(true);
      this.parts.push(parts.slice(0, half));
      if (half === parts.length) return;
      this.starts.push(start + parts.slice(0, half).reduce((sum, { durationTicks }) => sum + durationTicks, 0));
      this.independent.push(false);
      this.parts.push(parts.slice(half));
    });
    this.trackNames = [name];
    this.state = this.describe();
  }

  get partCount(): number {
    return this.parts.flat().length;
  }

  /** Boundaries of all segments, in ticks. */
  get boundaries(): readonly number[] {
    const last = this.parts.at(-1)!.reduce((sum, { durationTicks }) => sum + durationTicks, this.starts.at(-1)!);
    return [...this.starts, last];
  }

  /** Adds parts; a segment is complete as soon as its last part is there. */
  grow(count = 1): void {
    this.shown = Math.min(this.shown + count, this.partCount);
    this.change(false);
  }

  end(): void {
    this.change(true);
  }

  /** Nothing more comes, but it is not the end: the server stops, for example. */
  suspend(): void {
    this.isSuspended = true;
    for (const look of [...this.waiting]) look();
  }

  track(name: string): LiveTrackState | undefined {
    return this.trackNames.includes(name) ? this.state : undefined;
  }

  async waitFor(
    name: string,
    segment: number,
    part: number | undefined,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): Promise<boolean> {
    const isThere = (): boolean => {
      const { segments, ended } = this.track(name)!;
      const found = segments.find(({ number }) => number === segment);
      return (
        this.isSuspended ||
        ended ||
        found?.complete === true ||
        (part !== undefined && (found?.parts.length ?? 0) > part)
      );
    };
    if (isThere()) return true;
    return new Promise<boolean>((resolve, reject) => {
      const settle = (): void => {
        this.waiting.delete(look);
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
      };
      const look = (): void => {
        if (!isThere()) return;
        settle();
        resolve(true);
      };
      const onAbort = (): void => {
        settle();
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        settle();
        resolve(false);
      }, timeoutMs);
      this.waiting.add(look);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  init(name: string, config: number): Uint8Array | undefined {
    return this.trackNames.includes(name) && config === 0 ? configOf(this.video, this.reorderTicks) : undefined;
  }

  async read(name: string, segment: number, part?: number): Promise<Uint8Array | undefined> {
    const found = this.track(name)?.segments.find(({ number }) => number === segment);
    const parts = this.parts[segment - FIRST_SEGMENT];
    if (!found || !parts) return undefined;
    if (part === undefined) return found.complete ? Buffer.concat(parts.map(({ bytes }) => bytes)) : undefined;
    return part < found.parts.length ? parts[part]!.bytes : undefined;
  }

  private change(ended: boolean): void {
    this.state = { ...this.describe(), ended };
    for (const look of [...this.waiting]) look();
  }

  private describe(): LiveTrackState {
    const { width, height, frameRate } = this.video;
    let left = this.shown;
    this.segments = this.parts.flatMap((parts, index) => {
      const present = parts.slice(0, left).map(({ bytes: _, ...part }) => part);
      left -= present.length;
      if (present.length === 0) return [];
      return [
        {
          number: FIRST_SEGMENT + index,
          startTicks: this.starts[index]!,
          durationTicks: present.reduce((sum, { durationTicks }) => sum + durationTicks, 0),
          wallMs: 1_700_000_000_000 + (this.starts[index]! * 1000) / TIMESCALE,
          config: 0,
          discontinuity: false,
          independent: this.independent[index]!,
          parts: present,
          complete: present.length === parts.length,
        },
      ];
    });
    const info = {
      name: this.trackNames[0]!,
      kind: 'video',
      timescale: TIMESCALE,
      codecs: 'avc1.64001e',
      bandwidth: 2_000_000,
      width,
      height,
      frameRate: frameRate.num / frameRate.den,
    } as const;
    return { info, segments: this.segments, ended: false };
  }
}

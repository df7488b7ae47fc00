/** A broadcast of a generated file, cut into real parts, which a test plays in or ahead of time. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LiveFeed, LiveFeeds, LiveStills } from '#kinora/domain/playback/live-feed.js';
import type { LatencyMode, LiveTimes, LiveTrackInfo, LiveTrackState } from '#kinora/media/live/live-track.js';
import { findBox, listBoxes, viewOf } from '#kinora/media/mp4/box-reader.js';
import { writeFragment } from '#kinora/media/mp4/cmaf.js';
import { ffmpegPath } from '../media/ffmpeg-command.js';
import { GrowingTrack, liveAudio, liveVideo } from '../media/live-values.js';

interface Fragment {
  readonly bytes: Uint8Array;
  readonly startSeconds: number;
  readonly durationTicks: number;
}

interface CutTrack {
  readonly info: LiveTrackInfo;
  readonly init: Uint8Array;
  readonly fragments: readonly Fragment[];
}

const PART_MICROSECONDS = 333_000;
/** Of the fixtures, and so of the segments. */
const GOP_SECONDS = 2;

/** As Kinora writes it; FFmpeg leaves out of `trun` what equals the defaults of `tfhd`. */
const rewrite = (file: Uint8Array, start: number, end: number): Uint8Array => {
  const view = viewOf(file);
  const run = findBox(file, ['moof', 'traf', 'trun'], start, end)!;
  const header = findBox(file, ['moof', 'traf', 'tfhd'], start, end)!;
  const media = findBox(file, ['mdat'], start, end)!;
  const has = (of: { content: number }, flag: number): boolean => (view.getUint32(of.content) & flag) !== 0;
  let at = header.content + 8;
  const next = (): number => {
    at += 4;
    return view.getUint32(at - 4);
  };
  const readDefault = (flag: number): number => (has(header, flag) ? next() : 0);
  const [, duration, size, flags] = [0x2, 0x8, 0x10, 0x20].map(readDefault);
  at = run.content + 8 + (has(run, 0x1) ? 4 : 0);
  const first = has(run, 0x4) ? next() : flags!;
  const read = (flag: number, otherwise: number): number => (has(run, flag) ? next() : otherwise);
  const samples = Array.from({ length: view.getUint32(run.content + 4) }, (_, index) => {
    const [durationTicks, sizeBytes] = [read(0x100, duration!), read(0x200, size!)];
    const isOther = (read(0x400, index === 0 ? first : flags!) & 0x10000) !== 0;
    return { durationTicks, sizeBytes, sync: !isOther, compositionOffsetTicks: read(0x800, 0) | 0 };
  });
  const sequence = view.getUint32(findBox(file, ['moof', 'mfhd'], start, end)!.content + 4);
  const data = [file.subarray(media.content, media.end)];
  return writeFragment({ sequence, baseDecodeTicks: tfdtOf(file, start, end), samples, data });
};

const tfdtOf = (file: Uint8Array, start: number, end: number): number => {
  const { content } = findBox(file, ['moof', 'traf', 'tfdt'], start, end)!;
  return Number(viewOf(file).getBigUint64(content + 4));
};

const timescaleOf = (file: Uint8Array): number =>
  viewOf(file).getUint32(findBox(file, ['moov', 'trak', 'mdia', 'mdhd'])!.content + 12);

/** Splits a fragmented file; the last fragment, whose duration nothing tells, is left out. */
const split = (file: Uint8Array, info: LiveTrackInfo): CutTrack => {
  const boxes = listBoxes(file)!;
  const moofs = boxes.flatMap((box, index) => (box.type === 'moof' ? [{ ...box, until: boxes[index + 1]!.end }] : []));
  const starts = moofs.map(({ start, until }) => tfdtOf(file, start, until));
  const timescale = timescaleOf(file);
  return {
    info: { ...info, timescale },
    init: file.subarray(0, moofs[0]!.start),
    fragments: moofs.slice(0, -1).map(({ start, until }, index) => ({
      bytes: rewrite(file, start, until),
      startSeconds: starts[index]! / timescale,
      durationTicks: starts[index + 1]! - starts[index]!,
    })),
  };
};

const cut = async (path: string): Promise<CutTrack[]> => {
  const dir = await mkdtemp(join(tmpdir(), 'kinora-broadcast-'));
  const movflags = 'empty_moov+default_base_moof+frag_keyframe+negative_cts_offsets';
  try {
    const tracks = (['v', 'a'] as const).map(async (kind) => {
      const out = join(dir, `${kind}.mp4`);
      const fragments = ['-movflags', movflags, '-frag_duration', String(PART_MICROSECONDS), '-use_editlist', '0'];
      const input = ['-i', path, '-map', `0:${kind}:0`, '-c', 'copy', '-video_track_timescale', '90000'];
      execFileSync(ffmpegPath!, ['-v', 'error', ...input, ...fragments, out]);
      return split(await readFile(out), kind === 'v' ? { ...liveVideo, ...SIZE } : liveAudio);
    });
    return await Promise.all(tracks);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
};

const SIZE = { name: '180p', width: 320, height: 180, codecs: 'avc1.64000c' };

interface BroadcastOptions {
  readonly assetId: string;
  readonly latencyMode?: LatencyMode;
  readonly firstNumber?: number;
  readonly firstDiscontinuity?: number;
}

class FakeTrack {
  readonly growing: GrowingTrack;
  private readonly parts = new Map<string, Uint8Array>();
  private next = 0;

  constructor(
    readonly source: CutTrack,
    private readonly firstNumber: number,
    startMs: number,
  ) {
    this.growing = new GrowingTrack(source.info, firstNumber, startMs);
  }

  get state(): LiveTrackState {
    return this.growing.state;
  }

  /** Adds the next part if it ends by `seconds`. */
  grow(seconds: number): boolean {
    const fragment = this.source.fragments[this.next];
    if (!fragment || this.state.ended) return false;
    const { startSeconds, durationTicks, bytes } = fragment;
    if (startSeconds + durationTicks / this.source.info.timescale > seconds) return false;
    const segment = Math.floor((startSeconds + PART_MICROSECONDS / 2e6) / GOP_SECONDS) + this.firstNumber;
    const { last } = this.growing;
    if (last && last.number < segment && !last.complete) this.growing.complete();
    if (!last || last.number < segment) this.growing.begin();
    const part = this.growing.last!.parts.length;
    this.growing.part(durationTicks, this.source.info.kind === 'audio' || part === 0, bytes.length);
    this.parts.set(`${segment}.${part}`, bytes);
    this.next += 1;
    return true;
  }

  end(): void {
    if (this.growing.last?.complete === false) this.growing.complete();
    this.growing.end();
  }

  read(number: number, part: number | undefined): Uint8Array | undefined {
    if (part !== undefined) return this.parts.get(`${number}.${part}`);
    const segment = this.state.segments.find((listed) => listed.number === number);
    if (!segment?.complete) return undefined;
    return Buffer.concat(segment.parts.map((_, index) => this.parts.get(`${number}.${index}`)!));
  }
}

export class FakeBroadcast implements LiveFeed {
  /** `path` has H.264 with a key frame every two seconds, and AAC. */
  static async open(path: string, options: BroadcastOptions): Promise<FakeBroadcast> {
    return new FakeBroadcast(await cut(path), options);
  }

  readonly assetId: string;
  readonly times: LiveTimes;
  readonly firstDiscontinuity: number;
  readonly captions = [];
  readonly trackNames: readonly string[];
  stills: LiveStills | undefined;
  private readonly tracks: Map<string, FakeTrack>;
  private readonly listeners = new Set<() => void>();
  private timer: NodeJS.Timeout | undefined;
  private seconds = 0;

  private constructor(sources: readonly CutTrack[], options: BroadcastOptions) {
    const { assetId, latencyMode = 'low', firstNumber = 0, firstDiscontinuity = 0 } = options;
    this.assetId = assetId;
    this.firstDiscontinuity = firstDiscontinuity;
    this.times =
      latencyMode === 'low'
        ? { latencyMode, targetSeconds: 4, partTargetSeconds: 0.35 }
        : { latencyMode, targetSeconds: GOP_SECONDS + 1 };
    const startMs = Date.now();
    this.tracks = new Map(
      sources.map((source) => [source.info.name, new FakeTrack(source, firstNumber, startMs)] as const),
    );
    this.trackNames = [...this.tracks.keys()];
  }

  /** How many requests wait. */
  get waiting(): number {
    return this.listeners.size;
  }

  /** Everything up to this time of the file. */
  growTo(seconds: number): void {
    this.seconds = seconds;
    for (const track of this.tracks.values()) while (track.grow(seconds));
    for (const listener of [...this.listeners]) listener();
  }

  /** Grows in real time, as an encoder does. */
  start(): void {
    const startMs = performance.now() - this.seconds * 1000;
    this.timer = setInterval(() => this.growTo((performance.now() - startMs) / 1000), 20);
  }

  /** The encoder is gone, and the broadcast is over. */
  end(): void {
    this.stop();
    for (const track of this.tracks.values()) track.end();
    for (const listener of [...this.listeners]) listener();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  track(name: string): LiveTrackState | undefined {
    return this.tracks.get(name)?.state;
  }

  async waitFor(...[name, segment, part, { timeoutMs, signal }]: Parameters<LiveFeed['waitFor']>): Promise<boolean> {
    const track = this.tracks.get(name)!;
    const isThere = (): boolean => {
      const { segments, ended } = track.state;
      const last = segments.at(-1);
      if (ended || (last?.number ?? -1) > segment) return true;
      return last?.number === segment && (last.complete || (part !== undefined && part < last.parts.length));
    };
    signal.throwIfAborted();
    if (isThere()) return true;
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void): void => {
        clearTimeout(timeout);
        this.listeners.delete(listener);
        signal.removeEventListener('abort', abort);
        settle();
      };
      const listener = (): void => (isThere() ? finish(() => resolve(true)) : undefined);
      const abort = (): void => finish(() => reject(signal.reason));
      const timeout = setTimeout(() => finish(() => resolve(false)), timeoutMs);
      this.listeners.add(listener);
      signal.addEventListener('abort', abort);
    });
  }

  init(name: string, config: number): Uint8Array | undefined {
    return config === 0 ? this.tracks.get(name)?.source.init : undefined;
  }

  async read(name: string, segment: number, part?: number): Promise<Uint8Array | undefined> {
    return this.tracks.get(name)?.read(segment, part);
  }
}

/** What a test puts on air. */
export class FakeFeeds implements LiveFeeds {
  readonly assets = new Map<string, LiveFeed>();
  readonly streams = new Map<string, LiveFeed>();

  ofAsset(assetId: string): LiveFeed | undefined {
    return this.assets.get(assetId);
  }

  ofStream(liveStreamId: string): LiveFeed | undefined {
    return this.streams.get(liveStreamId);
  }
}

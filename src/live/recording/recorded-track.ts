import type { LivePart, LiveSegment, LiveTrackInfo, LiveTrackState } from '../../media/live/live-track.js';
import type { EmptyRecord, PartRecord } from '../../media/live/recording-format.js';
import { concat } from '../../media/mp4/box-writer.js';

export type ReadFile = (offset: number, length: number) => Promise<Uint8Array>;

/**
 * hls.js 1.7 never sees the end of a stream whose last segment is a gap, or a few frames: it takes
 * reordered frames for later ones than they are, and does not find them in its buffer.
 */
interface HeldSegment {
  readonly times: Omit<EmptyRecord, 'track'>;
  /** Absent for a gap. */
  readonly media?: {
    readonly part: PartRecord;
    readonly offset: number;
    readonly sizeBytes: number;
    readonly bytes: Uint8Array | undefined;
  };
}

interface RecentPart {
  readonly index: number;
  readonly bytes: Uint8Array;
  readonly endSeconds: number;
}

/** Parts that are further from the edge are read from the file. */
const RECENT_TARGETS = 3;
/** Nor more than this: times of a broken encoder may stand still. */
const MAX_RECENT_BYTES = 64 * 2 ** 20;
/** One read covers what lies between two parts if it is not more. */
const MAX_READ_GAP_BYTES = 64 * 1024;
/** Shorter segments say little about the bandwidth. */
const LEAST_MEASURED_SECONDS = 0.5;
/** Only the end of a session leaves a segment of video so short. */
const SHORT_SECONDS = 0.2;
const NO_PARTS: readonly LivePart[] = [];

/** A track of a recording: where its parts are, and the newest ones themselves. */
export class RecordedTrack {
  readonly inits: Uint8Array[] = [];
  readonly #read: ReadFile;
  readonly #segments: LiveSegment[] = [];
  /** Segments that players are not told of until something follows them. */
  #held: HeldSegment[] = [];
  /** By segment: the index of its first part. */
  readonly #firstParts: number[] = [];
  /** By part. */
  readonly #offsets: number[] = [];
  readonly #sizes: number[] = [];
  #recent: RecentPart[] = [];
  /** Segments before this one list no parts any more. */
  #firstWithParts = 0;
  #segmentBytes = 0;
  #info: LiveTrackInfo;
  #hasEnded = false;
  #version: number | undefined;
  #state: LiveTrackState | undefined;

  constructor(info: LiveTrackInfo, read: ReadFile, version?: number) {
    this.#info = info;
    this.#read = read;
    this.#version = version;
  }

  get state(): LiveTrackState {
    this.#state ??= {
      info: this.#info,
      segments: this.#segments,
      ended: this.#hasEnded,
      ...(this.#version !== undefined && { version: this.#version }),
    };
    return this.#state;
  }

  /** Of the last segment, so far. */
  get segmentBytes(): number {
    return this.#segmentBytes;
  }

  get endTicks(): number {
    const last = this.#held.at(-1)?.times ?? this.#segments.at(-1);
    return last ? last.startTicks + last.durationTicks : 0;
  }

  /** Of the segment after the last one; undefined before the first one. */
  get nextNumber(): number | undefined {
    const last = this.#held.at(-1)?.times.segment ?? this.#segments.at(-1)?.number;
    return last === undefined ? undefined : last + 1;
  }

  get completeCount(): number {
    return this.#segments.length - (this.#segments.at(-1)?.complete === false ? 1 : 0);
  }

  /** Another server continues: the last segment, which may have had more parts, ends. */
  takeOver(version: number): void {
    this.complete();
    this.#version = version;
    const last = this.#segments.pop();
    if (last) this.#segments.push({ ...last, version });
    this.#changed();
  }

  /** What later configurations change. */
  update(info: Partial<LiveTrackInfo>): void {
    this.#info = { ...this.#info, ...info };
    this.#changed();
  }

  /** Adds a part at `offset` of the file. Its bytes are kept if they are given. */
  add(part: PartRecord, offset: number, sizeBytes: number, bytes?: Uint8Array): void {
    if (this.#segments.length > 0 && this.#isShort(part)) {
      this.complete();
      this.#held.push({ times: part, media: { part, offset, sizeBytes, bytes } });
      return;
    }
    this.#addHeld();
    this.#addPart(part, offset, sizeBytes, bytes);
  }

  /** The track has nothing in a segment. */
  addEmpty(times: EmptyRecord): void {
    this.complete();
    this.#held.push({ times });
  }

  /** The times of segments after the one with this number. */
  after(number: number): Omit<EmptyRecord, 'track'>[] {
    const listed = this.#segments.map(({ number: segment, ...times }) => ({ segment, ...times }));
    return [...listed, ...this.#held.map(({ times }) => times)].filter(({ segment }) => segment > number);
  }

  #isShort({ part, segment, durationTicks }: PartRecord): boolean {
    const { kind, timescale } = this.#info;
    return kind === 'video' && part === 0 && segment === this.nextNumber && durationTicks < SHORT_SECONDS * timescale;
  }

  #addHeld(): void {
    const held = this.#held;
    this.#held = [];
    for (const { times, media } of held)
      if (media) this.#addPart(media.part, media.offset, media.sizeBytes, media.bytes);
      else this.#addGap(times);
  }

  #addPart(part: PartRecord, offset: number, sizeBytes: number, bytes: Uint8Array | undefined): void {
    if (this.#segments.at(-1)?.number !== part.segment) {
      this.complete();
      this.#push(part, []);
    }
    const segment = this.#segments.at(-1)!;
    const { durationTicks, independent } = part;
    const index = this.#offsets.length;
    this.#offsets.push(offset);
    this.#sizes.push(sizeBytes);
    this.#segmentBytes += sizeBytes;
    this.#segments[this.#segments.length - 1] = {
      ...segment,
      durationTicks: part.startTicks + durationTicks - segment.startTicks,
      parts: [...segment.parts, { durationTicks, independent, sizeBytes }],
    };
    const endSeconds = (part.startTicks + durationTicks) / this.#info.timescale;
    if (bytes) this.#recent.push({ index, bytes, endSeconds });
    if (this.#segments.length === 1) this.#measure(this.#segments[0]!);
    this.#changed();
  }

  /** No part of the last segment follows. */
  complete(): void {
    const last = this.#segments.at(-1);
    if (!last || last.complete) return;
    this.#segments[this.#segments.length - 1] = { ...last, complete: true };
    this.#measure(last);
    this.#segmentBytes = 0;
    this.#changed();
  }

  end(): void {
    this.complete();
    this.#hasEnded = true;
    this.#changed();
  }

  /** Forgets what is older than a few target durations, as far as the file has it. */
  trim(targetSeconds: number, writtenBytes: number): void {
    const oldest = this.endTicks / this.#info.timescale - RECENT_TARGETS * targetSeconds;
    let bytes = this.#recent.reduce((sum, part) => sum + part.bytes.length, 0);
    this.#recent = this.#recent.filter((part) => {
      const isWritten = this.#offsets[part.index]! + this.#sizes[part.index]! <= writtenBytes;
      const isKept = !isWritten || (part.endSeconds >= oldest && bytes <= MAX_RECENT_BYTES);
      if (!isKept) bytes -= part.bytes.length;
      return isKept;
    });
    for (; ; this.#firstWithParts += 1) {
      const segment = this.#segments[this.#firstWithParts];
      // Twice as far: playlists list parts of segments that have begun within the range.
      const end = segment && (segment.startTicks + segment.durationTicks) / this.#info.timescale;
      if (end === undefined || end >= oldest - RECENT_TARGETS * targetSeconds) return;
      this.#segments[this.#firstWithParts] = { ...segment!, parts: NO_PARTS };
    }
  }

  /** The file has everything. */
  forgetRecent(): void {
    this.#recent = [];
  }

  /** Undefined when there is no such part, or no complete segment. */
  async read(number: number, part: number | undefined): Promise<Uint8Array | undefined> {
    const at = number - (this.#segments[0]?.number ?? 0);
    const segment = this.#segments[at];
    if (!segment) return undefined;
    const first = this.#firstParts[at]!;
    const end = this.#firstParts[at + 1] ?? this.#offsets.length;
    if (part !== undefined) return first + part < end ? this.#readPart(first + part) : undefined;
    if (!segment.complete || first === end) return undefined;
    return concat(await this.#readParts(first, end));
  }

  #addGap({ segment, ...times }: Omit<EmptyRecord, 'track'>): void {
    this.complete();
    const config = this.#segments.at(-1)?.config ?? 0;
    this.#push({ ...times, segment, independent: true, open: false, config }, NO_PARTS);
    this.#segments.push({ ...this.#segments.pop()!, gap: true, complete: true });
  }

  #push(part: Omit<PartRecord, 'track' | 'part'>, parts: readonly LivePart[]): void {
    const { segment: number, startTicks, durationTicks, wallMs, config, discontinuity, independent, open } = part;
    const times = { number, startTicks, durationTicks, wallMs };
    const starts = { independent, ...(open && { open }) };
    const version = this.#version !== undefined && { version: this.#version };
    this.#segments.push({ ...times, ...starts, config, discontinuity, parts, complete: false, ...version });
    this.#firstParts.push(this.#offsets.length);
  }

  async #readPart(index: number): Promise<Uint8Array> {
    const [part] = await this.#readParts(index, index + 1);
    return part!;
  }

  /** Parts that are close to each other in the file are read at once. */
  async #readParts(first: number, end: number): Promise<Uint8Array[]> {
    const recent = new Map(this.#recent.map(({ index, bytes }) => [index, bytes]));
    const parts: Uint8Array[] = [];
    for (let index = first; index < end; ) {
      const bytes = recent.get(index);
      if (bytes) {
        parts.push(bytes);
        index += 1;
        continue;
      }
      let after = index + 1;
      const endOf = (part: number): number => this.#offsets[part]! + this.#sizes[part]!;
      while (after < end && !recent.has(after) && this.#offsets[after]! - endOf(after - 1) <= MAX_READ_GAP_BYTES)
        after += 1;
      const start = this.#offsets[index]!;
      const block = await this.#read(start, endOf(after - 1) - start);
      for (; index < after; index += 1) parts.push(block.subarray(this.#offsets[index]! - start, endOf(index) - start));
    }
    return parts;
  }

  #measure({ durationTicks }: LiveSegment): void {
    const seconds = durationTicks / this.#info.timescale;
    if (seconds < LEAST_MEASURED_SECONDS) return;
    const bandwidth = Math.ceil((this.#segmentBytes * 8) / seconds);
    if (bandwidth > this.#info.bandwidth) this.#info = { ...this.#info, bandwidth };
  }

  #changed(): void {
    this.#state = undefined;
  }
}

import type { LivePart, LiveSegment, LiveTrackInfo, LiveTrackState } from '../../media/live/live-track.js';
import type { Rung } from '../../media/plan/ladder.js';

/** How much of a rung stays in memory: the live window, and what slow players ask for. */
const KEPT_SECONDS = 45;

interface EncodedPart extends LivePart {
  readonly bytes: Uint8Array;
}

interface EncodedSegment {
  readonly startTicks: number;
  readonly parts: EncodedPart[];
}

/**
 * What viewers see of one rung. It has every segment of the recording: those that were encoded
 * while somebody watched, with their parts, and the others as a whole, which are made on request.
 */
export class RungTrack {
  /** Viewers wait for the parts of segments from this one on; absent while nobody watches. */
  fromSegment: number | undefined;
  touchedMs = Number.NEGATIVE_INFINITY;
  /** After the processor was too slow for it. */
  blockedUntilMs = Number.NEGATIVE_INFINITY;
  /** The number of its init segment. */
  config = 0;
  readonly #encoded = new Map<number, EncodedSegment>();
  readonly #settled: LiveSegment[] = [];
  #state: LiveTrackState;

  constructor(
    readonly rung: Rung,
    readonly init: Uint8Array,
    timescale: number,
    frameRate: number,
  ) {
    const { name, codecs, bandwidth, width, height } = rung;
    const info: LiveTrackInfo = { name, kind: 'video', timescale, codecs, bandwidth, width, height, frameRate };
    this.#state = { info, segments: [], ended: false };
  }

  get state(): LiveTrackState {
    return this.#state;
  }

  /** The next part of this segment that is not encoded. */
  nextPart(segment: number): number {
    return this.#encoded.get(segment)?.parts.length ?? 0;
  }

  isEncoding(segment: number): boolean {
    return this.#encoded.has(segment);
  }

  /** A segment is going to be encoded; viewers wait for its parts, unless they know it already. */
  expect(segment: number, startTicks: number): void {
    const isKnown = segment <= (this.#settled.at(-1)?.number ?? -1);
    if (!isKnown && !this.#encoded.has(segment)) this.#encoded.set(segment, { startTicks, parts: [] });
  }

  add(segment: number, part: EncodedPart): void {
    this.#encoded.get(segment)?.parts.push(part);
  }

  /** The parts of segments from this one on do not come: they are made on request. */
  lose(fromSegment: number): void {
    for (const number of this.#encoded.keys()) if (number >= fromSegment) this.#encoded.delete(number);
  }

  read(segment: number, part?: number): Uint8Array | undefined {
    const parts = this.#encoded.get(segment)?.parts;
    if (part !== undefined) return parts?.[part]?.bytes;
    const isWhole = this.#state.segments.some(({ number, complete }) => number === segment && complete);
    return parts && parts.length > 0 && isWhole ? Buffer.concat(parts.map(({ bytes }) => bytes)) : undefined;
  }

  /** Follows the recorded track. @returns whether something changed */
  update(copy: LiveTrackState): boolean {
    const before = this.#settled.length;
    for (let segment = copy.segments[before]; segment; segment = copy.segments[this.#settled.length]) {
      const parts = this.#encoded.get(segment.number)?.parts;
      const isAwaited = parts ? parts.length < segment.parts.length : segment.number >= (this.fromSegment ?? Infinity);
      if (!segment.complete || isAwaited) break;
      this.#settled.push(this.#describe(segment, parts ?? []));
    }
    this.#forget();
    const next = copy.segments[this.#settled.length];
    const parts = next && this.#encoded.get(next.number)?.parts;
    const current = next && parts && parts.length > 0 ? [this.#describe(next, parts, false)] : [];
    const last = this.#state.segments.at(-1);
    const ended = copy.ended && this.#settled.length === copy.segments.length;
    const isSame =
      before === this.#settled.length &&
      ended === this.#state.ended &&
      (current[0]?.parts.length ?? 0) === (last?.complete === false ? last.parts.length : 0);
    if (isSame) return false;
    this.#state = { ...this.#state, segments: [...this.#settled, ...current], ended, version: copy.version };
    return true;
  }

  #describe(segment: LiveSegment, parts: readonly EncodedPart[], complete = true): LiveSegment {
    const durationTicks = complete ? segment.durationTicks : parts.reduce((sum, each) => sum + each.durationTicks, 0);
    const described = parts.map(({ bytes: _, ...part }) => part);
    const { open: _, ...times } = segment;
    return { ...times, durationTicks, config: this.config, independent: true, parts: described, complete };
  }

  #forget(): void {
    const edge = this.#settled.at(-1)?.startTicks ?? 0;
    const settled = this.#settled.at(-1)?.number ?? -1;
    for (const [number, { startTicks }] of this.#encoded)
      if (number <= settled && startTicks < edge - KEPT_SECONDS * this.#state.info.timescale)
        this.#encoded.delete(number);
  }
}

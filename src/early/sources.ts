// Answers what can be read now: of the assets that play before their source is stored.

import type { ByteRanges } from '../lib/byte-ranges.js';
import { KinoraError } from '../lib/errors.js';
import type { Plan } from '../media/plan/plan.js';
import { type IndexedSource, neededRanges } from '../media/source/needed-ranges.js';
import type { Span } from '../packager/source-ranges.js';

/** An asset that plays while its source is still being stored. */
export interface EarlySource extends IndexedSource {
  readonly plan: Plan;
  /** All that jobs may read, of a file that grows at its end; by the index if absent. */
  readonly arrived?: ByteRanges;
  /** Present for a direct upload whose asset does not exist yet. */
  readonly upload?: { readonly id: string; readonly playbackIds: readonly string[] };
}

/**
 * The assets that play while they are still being ingested. Kept in memory only: the plan is made
 * again from the stored file before the asset is ready.
 */
export class EarlySources {
  private readonly sources = new Map<string, EarlySource>();
  /** The plans under which each of `sources` has been offered. */
  private readonly plans = new Map<string, Plan[]>();
  private readonly uploads = new Map<string, string>();
  private readonly withdrawn = new WeakSet<Plan>();

  /** `onChange` is called when an asset begins or ends to play early. */
  constructor(private readonly onChange: () => void = () => undefined) {}

  /**
   * Lets viewers play the asset. Replaces an earlier plan; what was made by that one is used on.
   */
  offer(assetId: string, source: EarlySource): void {
    const isNew = !this.sources.has(assetId);
    this.sources.set(assetId, source);
    this.plans.set(assetId, [...(this.plans.get(assetId) ?? []), source.plan]);
    for (const playbackId of source.upload?.playbackIds ?? []) this.uploads.set(playbackId, source.upload!.id);
    if (isNew) this.onChange();
  }

  /** Undefined when the asset does not play early. */
  planOf(assetId: string): Plan | undefined {
    return this.sources.get(assetId)?.plan;
  }

  /** The upload that plays under a playback ID before its asset exists. */
  uploadOf(playbackId: string): string | undefined {
    return this.uploads.get(playbackId);
  }

  /** The assets that play, and the playback IDs of uploads that do. */
  ids(): readonly string[] {
    return [...this.sources.keys(), ...this.uploads.keys()];
  }

  /** The bytes of the source that a job reads; undefined when the whole source is stored. */
  rangesOf(assetId: string, spans: readonly Span[]): ByteRanges | undefined {
    const source = this.sources.get(assetId);
    if (!source) return undefined;
    if (source.arrived) return source.arrived;
    const zeroSeconds = startOf(source.plan);
    return spans.flatMap(({ fromSeconds, untilSeconds, streams }) =>
      neededRanges(source, zeroSeconds + fromSeconds, zeroSeconds + untilSeconds, streams),
    );
  }

  /** Ends early playback; what was made by its plan may be used on. */
  end(assetId: string): void {
    for (const playbackId of this.sources.get(assetId)?.upload?.playbackIds ?? []) this.uploads.delete(playbackId);
    this.plans.delete(assetId);
    if (this.sources.delete(assetId)) this.onChange();
  }

  /** Ends early playback; what was made by its plan is removed. */
  withdraw(assetId: string): void {
    for (const plan of this.plans.get(assetId) ?? []) this.withdrawn.add(plan);
    this.end(assetId);
  }

  /**
   * For a request that found the plan before it was withdrawn: nothing may be made by it any more.
   * @throws KinoraError `unavailable`
   */
  throwIfWithdrawn(plan: Plan): void {
    if (this.withdrawn.has(plan))
      throw new KinoraError('unavailable', { details: { reason: 'early playback has ended' } });
  }
}

/** Source time in seconds that corresponds to zero on the timeline. */
const startOf = ({ video, audio }: Plan): number =>
  video
    ? video.originTicks / video.timescale
    : audio
      ? (audio.sourceOrigin * audio.sourceTimeBase.num) / audio.sourceTimeBase.den
      : 0;

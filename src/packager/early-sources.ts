import type { ByteRanges } from '../lib/byte-ranges.js';
import { KinoraError } from '../lib/errors.js';
import type { Plan } from '../media/plan/plan.js';
import { type IndexedSource, neededRanges } from '../media/source/needed-ranges.js';

/** An asset that plays while its source is still being stored. */
export interface EarlySource extends IndexedSource {
  readonly plan: Plan;
  /** All that jobs may read, of a file that grows at its end; by the index if absent. */
  readonly arrived?: ByteRanges;
  /** Present for a direct upload whose asset does not exist yet. */
  readonly upload?: { readonly id: string; readonly playbackIds: readonly string[] };
}

/** The streams that a job reads from a source, and the range on the asset's timeline in seconds. */
export interface Span {
  readonly streams: { readonly video: boolean; readonly audio: boolean };
  readonly fromSeconds: number;
  readonly untilSeconds: number;
}

/**
 * The assets that play while they are still being ingested. Kept in memory only: the plan is made again from the stored
 * file before the asset is ready.
 */
export interface EarlySources {
  /** Undefined when the asset does not play early. */
  planOf(assetId: string): Plan | undefined;
  /** The bytes of the source that a job reads; undefined when the whole source is stored. */
  rangesOf(assetId: string, spans: readonly Span[]): ByteRanges | undefined;
  /** The upload that plays under a playback ID before its asset exists. */
  uploadOf(playbackId: string): string | undefined;
  /** Replaces what the asset was published with before; what was made by that plan is used on. */
  publish(assetId: string, source: EarlySource): void;
  /** Ends early playback; what was made by its plan may be used on. */
  end(assetId: string): void;
  /** Ends early playback; what was made by its plan is removed. */
  withdraw(assetId: string): void;
  /** The assets that play, and the playback IDs of uploads that do. */
  ids(): readonly string[];
  /** Whether the plan was withdrawn: a request that found it before must not make anything by it any more. */
  isWithdrawn(plan: Plan): boolean;
}

/** `onChange` is called when an asset begins or ends to play early. */
export const createEarlySources = (onChange: () => void = () => undefined): EarlySources => {
  const sources = new Map<string, EarlySource>();
  /** The plans under which each of `sources` has been published. */
  const plans = new Map<string, Plan[]>();
  const uploads = new Map<string, string>();
  const withdrawn = new WeakSet<Plan>();
  const end = (assetId: string): void => {
    for (const playbackId of sources.get(assetId)?.upload?.playbackIds ?? []) uploads.delete(playbackId);
    plans.delete(assetId);
    if (sources.delete(assetId)) onChange();
  };
  return {
    planOf: (assetId) => sources.get(assetId)?.plan,
    rangesOf: (assetId, spans) => {
      const source = sources.get(assetId);
      if (!source) return undefined;
      if (source.arrived) return source.arrived;
      const zeroSeconds = startOf(source.plan);
      return spans.flatMap(({ fromSeconds, untilSeconds, streams }) =>
        neededRanges(source, zeroSeconds + fromSeconds, zeroSeconds + untilSeconds, streams),
      );
    },
    uploadOf: (playbackId) => uploads.get(playbackId),
    ids: () => [...sources.keys(), ...uploads.keys()],
    publish: (assetId, source) => {
      const isNew = !sources.has(assetId);
      sources.set(assetId, source);
      plans.set(assetId, [...(plans.get(assetId) ?? []), source.plan]);
      for (const playbackId of source.upload?.playbackIds ?? []) uploads.set(playbackId, source.upload!.id);
      if (isNew) onChange();
    },
    end,
    withdraw: (assetId) => {
      for (const plan of plans.get(assetId) ?? []) withdrawn.add(plan);
      end(assetId);
    },
    isWithdrawn: (plan) => withdrawn.has(plan),
  };
};

/** @throws KinoraError `unavailable` for a plan that was withdrawn */
export const refuseWithdrawn = (sources: Pick<EarlySources, 'isWithdrawn'>, plan: Plan): void => {
  if (sources.isWithdrawn(plan))
    throw new KinoraError('unavailable', { details: { reason: 'early playback has ended' } });
};

/** Source time in seconds that corresponds to zero on the timeline. */
const startOf = ({ video, audio }: Plan): number =>
  video
    ? video.originTicks / video.timescale
    : audio
      ? (audio.sourceOrigin * audio.sourceTimeBase.num) / audio.sourceTimeBase.den
      : 0;

import { LRUCache } from 'lru-cache';
import type { Database } from '../../db/database.js';
import {
  findAlternateAudio,
  findPlan,
  findPlayableRow,
  findReadyTracks,
  type PlayableTrack,
} from '../../db/tables/playback/playable.js';
import type { Clock } from '../../lib/clock.js';
import { isId } from '../../lib/ids.js';
import {
  type AdditionalRenditions,
  type AlternateAudio,
  alternateAudioTrack,
  withoutOriginal,
} from '../../media/plan/find-segment.js';
import type { AudioPlan, Plan } from '../../media/plan/plan.js';
import type { Chapter } from '../../media/robots/chapters.js';
import { trackConcatenatedKey, trackSourceKey } from '../../storage/keys.js';

/** What a playback id leads to. */
export interface Playable {
  readonly playbackId: string;
  readonly environmentId: string;
  readonly policy: 'public' | 'signed' | 'drm';
  /** Of the policy `drm` only. */
  readonly drmConfigurationId?: string;
  readonly assetId: string;
  readonly status: 'preparing' | 'ready' | 'errored';
  readonly meta: Readonly<Record<string, string>>;
  /** Seconds; of images that ask for no time. */
  readonly thumbnailTime?: number;
  /** What viewers can jump to; empty when the asset has none. */
  readonly chapters: readonly Chapter[];
  /** Those with status `ready`, in order of creation. */
  readonly tracks: readonly PlayableTrack[];
  /** Present when the asset can be played: it is ready or plays early. */
  readonly plan?: Plan;
  /** The asset is preparing and plays meanwhile; what viewers get may still be taken back. */
  readonly early?: true;
}

export interface PlayableFinder {
  /**
   * Undefined when the id is unknown, deleted, or its asset is. Answers are up to a second old; of a ready asset up to
   * `readyMaxAgeMs`, for callers to whom only the plan matters, which never changes then.
   */
  find(playbackId: string, readyMaxAgeMs?: number): Promise<Playable | undefined>;
  /** What leads to a rendition that is not in the plan: that of an alternate audio track. Undefined for any other name. */
  findAdditional(playable: Playable, rendition: string): Promise<AdditionalRenditions | undefined>;
  /** Makes a deletion or change visible at once; takes an asset id or a playback id. */
  forget(id: string): void;
}

interface Entry {
  readonly readAtMs: number;
  readonly answer: Promise<Playable | undefined>;
  ready: boolean;
}

const LIFETIME_MS = 1000;
const MAX_PLAYABLES = 2000;
/** A plan of a two-hour asset is some 100 kB; a plan never changes once its asset is ready. */
const MAX_PLANS = 100;
/** Their plans are a tenth of that. */
const MAX_ALTERNATE_AUDIO = 200;

/** Viewers ask for the same few ids again and again: their answers stay in memory for a moment, plans for longer. */
export const createPlayableFinder = (
  database: Database,
  clock: Clock,
  early: { planOf(assetId: string): Plan | undefined },
): PlayableFinder => {
  const db = database.queryable;
  const playables = new LRUCache<string, Entry>({ max: MAX_PLAYABLES });
  const plans = new LRUCache<string, Plan>({ max: MAX_PLANS });
  /** By track. */
  const alternateAudio = new LRUCache<string, AlternateAudio & { readonly assetId: string }>({
    max: MAX_ALTERNATE_AUDIO,
  });

  const loadPlan = async (assetId: string): Promise<Plan | undefined> => {
    const known = plans.get(assetId);
    if (known) return known;
    const plan = (await findPlan(db, assetId)) as Plan | undefined;
    plans.set(assetId, plan);
    return plan;
  };

  const load = async (playbackId: string): Promise<Playable | undefined> => {
    const row = await findPlayableRow(db, playbackId);
    if (!row) return undefined;
    const ready = row.status === 'ready';
    const [tracks, plan] = ready
      ? await Promise.all([findReadyTracks(db, row.asset_id), loadPlan(row.asset_id)])
      : [[], undefined];
    // The asset can be deleted between the queries.
    if (ready && !plan) return undefined;
    // The keys of DRM are made for assets that are ready.
    const earlyPlan = row.status === 'preparing' && row.policy !== 'drm' ? early.planOf(row.asset_id) : undefined;
    const {
      policy,
      asset_id: assetId,
      environment_id: environmentId,
      drm_configuration_id: drmConfigurationId,
      status,
      meta,
      thumbnail_time: thumbnailTime,
      chapters,
    } = row;
    return {
      playbackId,
      environmentId,
      policy,
      ...(drmConfigurationId !== null && { drmConfigurationId }),
      assetId,
      status,
      meta: meta ?? {},
      chapters: chapters?.chapters ?? [],
      ...(thumbnailTime !== null && { thumbnailTime }),
      tracks,
      ...(plan && { plan: playedPlan(plan, policy) }),
      ...(earlyPlan && { plan: earlyPlan, early: true }),
    };
  };

  const loadAlternateAudio = async (assetId: string, trackId: string): Promise<AlternateAudio | undefined> => {
    const known = alternateAudio.get(trackId);
    if (known) return known.assetId === assetId ? known : undefined;
    const row = isId(trackId) ? await findAlternateAudio(db, assetId, trackId) : undefined;
    if (!row?.plan) return undefined;
    const keyOf = row.joined ? trackConcatenatedKey : trackSourceKey;
    const sourceKey = keyOf(row.source_asset_id, row.source_track_id);
    const found = { assetId, audio: row.plan as AudioPlan, sourceKey };
    alternateAudio.set(trackId, found);
    return found;
  };

  return {
    find(playbackId, readyMaxAgeMs = LIFETIME_MS) {
      if (!isId(playbackId)) return Promise.resolve(undefined);
      const nowMs = clock.monotonicMs();
      const known = playables.get(playbackId);
      if (known && nowMs < known.readAtMs + (known.ready ? readyMaxAgeMs : LIFETIME_MS)) return known.answer;
      const entry: Entry = { readAtMs: nowMs, answer: load(playbackId), ready: false };
      playables.set(playbackId, entry);
      const drop = () => playables.peek(playbackId) === entry && playables.delete(playbackId);
      entry.answer.then((playable) => {
        entry.ready = playable?.status === 'ready';
        // An unknown id is asked for again: it may be created the next moment, and unknown ids must not fill the memory.
        if (!playable) drop();
      }, drop);
      return entry.answer;
    },
    async findAdditional({ assetId }, rendition) {
      const trackId = alternateAudioTrack(rendition);
      const found = trackId === undefined ? undefined : await loadAlternateAudio(assetId, trackId);
      return found && { audio: new Map([[rendition, found]]) };
    },
    forget(id) {
      playables.delete(id);
      plans.delete(id);
      for (const [trackId, { assetId }] of alternateAudio) if (assetId === id) alternateAudio.delete(trackId);
      for (const [playbackId, { answer }] of playables) {
        answer.then(
          (playable) => playable?.assetId === id && playables.delete(playbackId),
          // Whoever asked gets the error; a failed answer is not kept anyway.
          () => undefined,
        );
      }
    },
  };
};

/** An original can't be encrypted. */
const playedPlan = (plan: Plan, policy: Playable['policy']): Plan => (policy === 'drm' ? withoutOriginal(plan) : plan);

import { LRUCache } from 'lru-cache';
import type { Database } from '../../db/database.js';
import { findUploadById } from '../../db/tables/assets/upload.js';
import {
  findAlternateAudio,
  findPlan,
  findPlayableRow,
  findReadyTracks,
  type PlayableRow,
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
  /** Only present for the policy `drm`. */
  readonly drmConfigurationId?: string;
  readonly assetId: string;
  readonly status: 'preparing' | 'ready' | 'errored';
  readonly meta: Readonly<Record<string, string>>;
  /** In seconds, for images whose request has no time. */
  readonly thumbnailTime?: number;
  /** Chapters that viewers can jump to; empty when the asset has none. */
  readonly chapters: readonly Chapter[];
  /** Tracks with status `ready`, in order of creation. */
  readonly tracks: readonly PlayableTrack[];
  /** Present when the asset can be played: it is ready or plays early. */
  readonly plan?: Plan;
  /** The asset is preparing but can already be played; the results may still be withdrawn. */
  readonly early?: true;
}

export interface PlayableFinder {
  /**
   * Undefined when the ID is unknown or deleted, or its asset is deleted. Results are up to a second old. For a ready
   * asset they may be up to `readyMaxAgeMs` old, for callers that only need the plan, which no longer changes.
   */
  find(playbackId: string, readyMaxAgeMs?: number): Promise<Playable | undefined>;
  /** Finds a rendition that is not in the plan: that of an alternate audio track. Undefined for any other name. */
  findAdditional(playable: Playable, rendition: string): Promise<AdditionalRenditions | undefined>;
  /** Makes a deletion or change visible immediately; takes an asset ID or a playback ID. */
  forget(id: string): void;
}

interface Entry {
  readonly readAtMs: number;
  readonly answer: Promise<Playable | undefined>;
  ready: boolean;
  /** Present when the asset plays early. */
  early?: { readonly assetId: string; readonly plan: Plan };
}

const LIFETIME_MS = 1000;
const MAX_PLAYABLES = 2000;
/** The plan of a two-hour asset has about 100 kB and never changes once the asset is ready. */
const MAX_PLANS = 100;
/** These plans are about a tenth of that size. */
const MAX_ALTERNATE_AUDIO = 200;

/** What plays before it is ready. */
interface EarlyPlans {
  planOf(assetId: string): Plan | undefined;
  /** The upload that plays under a playback ID before its asset exists. */
  uploadOf(playbackId: string): string | undefined;
}

/** Viewers request the same few IDs again and again, so results stay in memory for a moment and plans for longer. */
export const createPlayableFinder = (database: Database, clock: Clock, early: EarlyPlans): PlayableFinder => {
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

  /** An upload that plays before its asset exists. */
  const findUploadRow = async (playbackId: string): Promise<PlayableRow | undefined> => {
    const uploadId = early.uploadOf(playbackId);
    const upload = uploadId === undefined ? undefined : await findUploadById(db, uploadId);
    // The asset was created between the two queries.
    if (upload?.status === 'asset_created') return findPlayableRow(db, playbackId);
    const reserved = upload?.early_playback_ids?.find(({ id }) => id === playbackId);
    if (upload?.status !== 'waiting' || !reserved) return undefined;
    const { meta } = upload.new_asset_settings as { meta?: Record<string, string> };
    return {
      policy: reserved.policy,
      asset_id: upload.target_asset_id,
      environment_id: upload.environment_id,
      drm_configuration_id: null,
      status: 'preparing',
      meta: meta ?? null,
      thumbnail_time: null,
      chapters: null,
    };
  };

  const load = async (playbackId: string): Promise<Playable | undefined> => {
    const row = (await findPlayableRow(db, playbackId)) ?? (await findUploadRow(playbackId));
    if (!row) return undefined;
    const ready = row.status === 'ready';
    const [tracks, plan] = ready
      ? await Promise.all([findReadyTracks(db, row.asset_id), loadPlan(row.asset_id)])
      : [[], undefined];
    // The asset can be deleted between the queries.
    if (ready && !plan) return undefined;
    // DRM keys are only made for ready assets.
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

  /** No more files may be made by a plan that was withdrawn. */
  const isWithdrawn = ({ early: known }: Entry): boolean =>
    known !== undefined && early.planOf(known.assetId) !== known.plan;

  return {
    find(playbackId, readyMaxAgeMs = LIFETIME_MS) {
      if (!isId(playbackId)) return Promise.resolve(undefined);
      const nowMs = clock.monotonicMs();
      const known = playables.get(playbackId);
      const maxAgeMs = known?.ready ? readyMaxAgeMs : LIFETIME_MS;
      if (known && nowMs < known.readAtMs + maxAgeMs && !isWithdrawn(known)) return known.answer;
      const entry: Entry = { readAtMs: nowMs, answer: load(playbackId), ready: false };
      playables.set(playbackId, entry);
      const drop = () => playables.peek(playbackId) === entry && playables.delete(playbackId);
      entry.answer.then((playable) => {
        entry.ready = playable?.status === 'ready';
        if (playable?.early) entry.early = { assetId: playable.assetId, plan: playable.plan! };
        // An unknown ID is looked up again: it may be created soon, and unknown IDs must not fill the memory.
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
          // The caller gets the error, and a failed result is not kept anyway.
          () => undefined,
        );
      }
    },
  };
};

/** An original can't be encrypted. */
const playedPlan = (plan: Plan, policy: Playable['policy']): Plan => (policy === 'drm' ? withoutOriginal(plan) : plan);

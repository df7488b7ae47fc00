import { LRUCache } from 'lru-cache';
import type { Database } from '../../db/database.js';
import { findUploadById } from '../../db/tables/assets/upload.js';
import {
  type FoundPlayable,
  findAlternateAudio,
  findPlayables,
  type PlayableTrack,
} from '../../db/tables/playback/playable.js';
import type { Clock } from '../../lib/clock.js';
import { isId } from '../../lib/ids.js';
import { LIFETIME_MS, TtlCache } from '../../lib/ttl-cache.js';
import {
  type AdditionalRenditions,
  type AlternateAudio,
  alternateAudioTrack,
  withoutOriginal,
} from '../../media/plan/find-segment.js';
import type { AudioPlan, Plan } from '../../media/plan/plan.js';
import type { Chapter } from '../../media/plan/plan-chapters.js';
import { alternateAudioKey } from '../../storage/keys.js';

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
   * Undefined when the ID is unknown or deleted, or its asset is deleted. For a ready asset the result is as old as a
   * `TtlCache` allows unless `forget` is called, otherwise up to a second.
   */
  find(playbackId: string): Promise<Playable | undefined>;
  /** Finds a rendition that is not in the plan: that of an alternate audio track. Undefined for any other name. */
  findAdditional(playable: Playable, rendition: string): Promise<AdditionalRenditions | undefined>;
  /** Makes a deletion or change visible immediately; takes an asset ID or a playback ID. */
  forget(id: string): void;
  /** Makes everything be read again before it is used, because changes may have been missed. */
  expireAll(): void;
}

/** The state of an asset that is not ready may change at any time. */
const PREPARING_LIFETIME_MS = 1000;
/** Of a row and its tracks, without the plan. */
const ROW_BYTES = 2000;
/** Further audio tracks get this part of the memory of plans. */
const AUDIO_SHARE = 0.2;

/** What plays before it is ready. */
interface EarlyPlans {
  planOf(assetId: string): Plan | undefined;
  /** The upload that plays under a playback ID before its asset exists. */
  uploadOf(playbackId: string): string | undefined;
}

export interface PlayableFinderDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly early: EarlyPlans;
  /** The memory for plans. */
  readonly maxBytes: number;
}

/** Plans are parsed JSON: their text is about as long as what they occupy. */
const createSizeOf = () => {
  const sizes = new WeakMap<object, number>();
  return (plan: object): number => {
    const size = sizes.get(plan) ?? JSON.stringify(plan).length;
    sizes.set(plan, size);
    return size;
  };
};

/**
 * Viewers request the same IDs again and again, so what they lead to stays in memory: a plan of a two-hour asset has
 * about 100 kB and does not change once the asset is ready.
 */
export const createPlayableFinder = ({ database, clock, early, maxBytes }: PlayableFinderDeps): PlayableFinder => {
  const db = database.queryable;
  const sizeOfPlan = createSizeOf();

  /** An upload that plays before its asset exists. */
  const findUpload = async (playbackId: string): Promise<FoundPlayable | undefined> => {
    const uploadId = early.uploadOf(playbackId);
    const upload = uploadId === undefined ? undefined : await findUploadById(db, uploadId);
    // The asset was created between the two queries.
    if (upload?.status === 'asset_created') return (await findPlayables(db, [playbackId]))[0];
    const reserved = upload?.early_playback_ids?.find(({ id }) => id === playbackId);
    if (upload?.status !== 'waiting' || !reserved) return undefined;
    const { meta } = upload.new_asset_settings as { meta?: Record<string, string> };
    return {
      playback_id: playbackId,
      policy: reserved.policy,
      asset_id: upload.target_asset_id,
      environment_id: upload.environment_id,
      drm_configuration_id: null,
      status: 'preparing',
      meta: meta ?? null,
      thumbnail_time: null,
      chapters: null,
      tracks: [],
      plan: null,
    };
  };

  const playableOf = (row: FoundPlayable, known: Plan | undefined): Playable | undefined => {
    const ready = row.status === 'ready';
    const plan = ready ? (known ?? (row.plan && playedPlan(row.plan as Plan, row.policy))) : undefined;
    if (ready && !plan) return undefined;
    // DRM keys are only made for ready assets.
    const earlyPlan = row.status === 'preparing' && row.policy !== 'drm' ? early.planOf(row.asset_id) : undefined;
    const { chapters, drm_configuration_id: drmConfigurationId, thumbnail_time: thumbnailTime } = row;
    return {
      playbackId: row.playback_id,
      environmentId: row.environment_id,
      policy: row.policy,
      ...(drmConfigurationId !== null && { drmConfigurationId }),
      assetId: row.asset_id,
      status: row.status,
      meta: row.meta ?? {},
      chapters: chapters?.chapters ?? [],
      ...(thumbnailTime !== null && { thumbnailTime }),
      tracks: row.tracks,
      ...(plan && { plan }),
      ...(earlyPlan && { plan: earlyPlan, early: true }),
    };
  };

  const load = async (ids: readonly string[]): Promise<Map<string, Playable>> => {
    const known = new Map<string, { readonly assetId: string; readonly plan: Plan }>();
    for (const id of ids) {
      const { status, assetId, plan } = playables.peek(id) ?? {};
      if (status === 'ready') known.set(id, { assetId: assetId!, plan: plan! });
    }
    const rows = await findPlayables(
      db,
      ids,
      [...known.values()].map(({ assetId }) => assetId),
    );
    const found = new Set(rows.map(({ playback_id }) => playback_id));
    for (const id of ids) {
      const upload = found.has(id) || early.uploadOf(id) === undefined ? undefined : await findUpload(id);
      if (upload) rows.push(upload);
    }
    return new Map(
      rows.flatMap((row) => {
        const playable = playableOf(row, known.get(row.playback_id)?.plan);
        return playable ? [[row.playback_id, playable]] : [];
      }),
    );
  };

  const playables = new TtlCache<Playable>({
    load,
    clock,
    lifetimeMs: ({ status }) => (status === 'ready' ? LIFETIME_MS : PREPARING_LIFETIME_MS),
    limit: { maxBytes, sizeOf: ({ plan }) => ROW_BYTES + (plan ? sizeOfPlan(plan) : 0) },
    groupOf: ({ assetId }) => assetId,
  });
  /** By asset and track. */
  const alternateAudio = new LRUCache<string, AlternateAudio>({
    maxSize: Math.ceil(maxBytes * AUDIO_SHARE),
    sizeCalculation: ({ audio }) => sizeOfPlan(audio),
  });

  const loadAlternateAudio = async (assetId: string, trackId: string): Promise<AlternateAudio | undefined> => {
    const name = `${assetId} ${trackId}`;
    const known = alternateAudio.get(name);
    if (known) return known;
    const row = isId(trackId) ? await findAlternateAudio(db, assetId, trackId) : undefined;
    if (!row?.plan) return undefined;
    const sourceKey = alternateAudioKey(row.source_asset_id, row.source_track_id, row.joined);
    const found = { audio: row.plan as AudioPlan, sourceKey };
    alternateAudio.set(name, found);
    return found;
  };

  /** No more files may be made by a plan that was withdrawn. */
  const isWithdrawn = (playable: Playable): boolean =>
    playable.early === true && early.planOf(playable.assetId) !== playable.plan;

  return {
    async find(playbackId) {
      if (!isId(playbackId)) return undefined;
      const found = await playables.find(playbackId);
      if (!found || !isWithdrawn(found)) return found;
      playables.forget(playbackId);
      return playables.find(playbackId);
    },
    async findAdditional({ assetId }, rendition) {
      const trackId = alternateAudioTrack(rendition);
      const found = trackId === undefined ? undefined : await loadAlternateAudio(assetId, trackId);
      return found && { audio: new Map([[rendition, found]]) };
    },
    forget(id) {
      playables.forget(id);
      playables.forgetGroup(id);
      for (const name of alternateAudio.keys()) if (name.startsWith(`${id} `)) alternateAudio.delete(name);
    },
    expireAll: () => playables.expireAll(),
  };
};

/** An original can't be encrypted. */
const playedPlan = (plan: Plan, policy: Playable['policy']): Plan => (policy === 'drm' ? withoutOriginal(plan) : plan);

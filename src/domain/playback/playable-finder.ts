import { LRUCache } from 'lru-cache';
import type { Database, Queryable } from '../../db/database.js';
import type { RecordingTime } from '../../db/schema.js';
import { findUploadById } from '../../db/tables/assets/upload.js';
import {
  type FoundLiveStream,
  type FoundPlayable,
  findAlternateAudio,
  findPlayableStreams,
  findPlayables,
  type PlayableTrack,
} from '../../db/tables/playback/playable.js';
import type { Clock } from '../../lib/clock.js';
import { isId } from '../../lib/ids.js';
import { LIFETIME_MS, TtlCache } from '../../lib/ttl-cache.js';
import { withAv1 } from '../../media/plan/av1-ladder.js';
import {
  type AdditionalRenditions,
  type AlternateAudio,
  alternateAudioTrack,
  withoutOriginal,
} from '../../media/plan/find-segment.js';
import type { AudioPlan, Plan } from '../../media/plan/plan.js';
import type { Chapter } from '../../media/plan/plan-chapters.js';
import type { RecordedSession } from '../../media/playlist/program-times.js';
import { alternateAudioKey } from '../../storage/keys.js';
import { type Av1After, listsAv1 } from './lists-av1.js';
import type { LiveFeed, LiveFeeds } from './live-feed.js';

/** What a playback id leads to. */
export interface Playable {
  readonly playbackId: string;
  readonly environmentId: string;
  readonly policy: 'public' | 'signed' | 'drm';
  /** Only present for the policy `drm`. */
  readonly drmConfigurationId?: string;
  /** For a live stream that is not on air, its own ID. */
  readonly assetId: string;
  /** Only present when the ID is that of a live stream. */
  readonly liveStreamId?: string;
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
  /** Whether playlists list the AV1 ladder of the plan. */
  readonly listsAv1?: true;
  /** The asset is preparing but can already be played; the results may still be withdrawn. */
  readonly early?: true;
  /** Of the recording of a broadcast: when its parts were on air. */
  readonly recordedSessions?: readonly RecordedSession[];
  /** The broadcast that is on air, or ended a moment ago. */
  readonly live?: LiveFeed;
}

/** Whether only the broadcast can be played: there is no plan of its asset yet. */
export const isOnAir = <P extends Playable>(playable: P): playable is P & { readonly live: LiveFeed } =>
  playable.live !== undefined && playable.plan === undefined;

/** The state of an asset that is not ready may change at any time. */
const PREPARING_LIFETIME_MS = 1000;
/** Of a row and its tracks, without the plan. */
const ROW_BYTES = 2000;
/** Alternate audio tracks get this part of the memory of plans. */
const AUDIO_SHARE = 0.2;

/**
 * What plays before it is ready. An interface, because the domain may not import the packager,
 * which knows it.
 */
interface EarlyPlans {
  planOf(assetId: string): Plan | undefined;
  /** The upload that plays under a playback ID before its asset exists. */
  uploadOf(playbackId: string): string | undefined;
}

export interface PlayableFinderDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly early: EarlyPlans;
  readonly feeds: LiveFeeds;
  /** The memory for plans. */
  readonly maxBytes: number;
  readonly av1After: Av1After;
}

/**
 * Viewers request the same IDs again and again, so what they lead to stays in memory: a plan of a
 * two-hour asset has about 100 kB and does not change once the asset is ready.
 */
export class PlayableFinder {
  readonly #db: Queryable;
  readonly #early: EarlyPlans;
  readonly #feeds: LiveFeeds;
  readonly #av1After: Av1After;
  /** With its broadcast, which may begin and end while a row is in memory. */
  readonly #onAir = new WeakMap<Playable, Playable>();
  readonly #planSizes = new WeakMap<object, number>();
  readonly #playables: TtlCache<Playable>;
  /** By asset and track. */
  readonly #alternateAudio: LRUCache<string, AlternateAudio>;

  constructor({ database, clock, early, feeds, maxBytes, av1After }: PlayableFinderDeps) {
    this.#db = database.queryable;
    this.#early = early;
    this.#feeds = feeds;
    this.#av1After = av1After;
    this.#playables = new TtlCache<Playable>({
      load: (ids) => this.#load(ids),
      clock,
      lifetimeMs: ({ status, liveStreamId }) =>
        liveStreamId !== undefined || status === 'ready' ? LIFETIME_MS : PREPARING_LIFETIME_MS,
      limit: { maxBytes, sizeOf: ({ plan }) => ROW_BYTES + (plan ? this.#sizeOfPlan(plan) : 0) },
      groupOf: ({ assetId }) => assetId,
    });
    this.#alternateAudio = new LRUCache({
      maxSize: Math.ceil(maxBytes * AUDIO_SHARE),
      sizeCalculation: ({ audio }) => this.#sizeOfPlan(audio),
    });
  }

  /**
   * Undefined when the ID is unknown or deleted, or its asset is deleted. For a ready asset the
   * result is as old as a `TtlCache` allows unless `forget` is called, otherwise up to a second;
   * only the broadcast is always that of this moment.
   */
  async find(playbackId: string): Promise<Playable | undefined> {
    if (!isId(playbackId)) return undefined;
    let playable = await this.#playables.find(playbackId);
    if (playable && this.#isWithdrawn(playable)) {
      this.#playables.forget(playbackId);
      playable = await this.#playables.find(playbackId);
    }
    return playable && this.#withBroadcast(playable);
  }

  /**
   * Finds a rendition that is not in the plan: that of an alternate audio track. Undefined for any
   * other name.
   */
  async findAdditional({ assetId }: Playable, rendition: string): Promise<AdditionalRenditions | undefined> {
    const trackId = alternateAudioTrack(rendition);
    const alternate = trackId === undefined ? undefined : await this.#findAlternateAudio(assetId, trackId);
    return alternate && { audio: new Map([[rendition, alternate]]) };
  }

  /** Makes a deletion or change visible immediately; takes an asset ID or a playback ID. */
  forget(id: string): void {
    this.#playables.forget(id);
    this.#playables.forgetGroup(id);
    for (const name of this.#alternateAudio.keys()) if (name.startsWith(`${id} `)) this.#alternateAudio.delete(name);
  }

  /** Makes everything be read again before it is used, because changes may have been missed. */
  expireAll(): void {
    this.#playables.expireAll();
  }

  async #load(ids: readonly string[]): Promise<Map<string, Playable>> {
    const cachedPlans = new Map<string, { readonly assetId: string; readonly plan: Plan }>();
    for (const id of ids) {
      const { status, assetId, plan } = this.#playables.peek(id) ?? {};
      if (status === 'ready' && plan) cachedPlans.set(id, { assetId: assetId!, plan });
    }
    const rows = await findPlayables(
      this.#db,
      ids,
      [...cachedPlans.values()].map(({ assetId }) => assetId),
    );
    const foundIds = new Set(rows.map(({ playback_id }) => playback_id));
    for (const id of ids) {
      const upload = foundIds.has(id) ? undefined : await this.#findUpload(id);
      if (upload) rows.push(upload);
    }
    const playables = new Map(
      rows.flatMap((row): [string, Playable][] => {
        const playable = this.#playableOf(row, cachedPlans.get(row.playback_id)?.plan);
        return playable ? [[row.playback_id, playable]] : [];
      }),
    );
    const others = ids.filter((id) => !rows.some(({ playback_id }) => playback_id === id));
    for (const row of others.length > 0 ? await findPlayableStreams(this.#db, others) : [])
      playables.set(row.playback_id, streamOf(row));
    return playables;
  }

  /** An upload that plays before its asset exists. */
  async #findUpload(playbackId: string): Promise<FoundPlayable | undefined> {
    const uploadId = this.#early.uploadOf(playbackId);
    if (uploadId === undefined) return undefined;
    const upload = await findUploadById(this.#db, uploadId);
    // The asset was created between the two queries.
    if (upload?.status === 'asset_created') return (await findPlayables(this.#db, [playbackId]))[0];
    const reserved = upload?.early_playback_ids?.find(({ id }) => id === playbackId);
    if (upload?.status !== 'waiting' || !reserved) return undefined;
    const { meta } = upload.new_asset_settings as { meta?: Record<string, string> };
    return {
      playback_id: playbackId,
      policy: reserved.policy,
      asset_id: upload.target_asset_id,
      environment_id: upload.environment_id,
      live_stream_id: null,
      drm_configuration_id: null,
      status: 'preparing',
      meta: meta ?? null,
      thumbnail_time: null,
      recording_times: null,
      av1: 'auto',
      av1_state: null,
      chapters: null,
      tracks: [],
      plan: null,
    };
  }

  #playableOf(row: FoundPlayable, cachedPlan: Plan | undefined): Playable | undefined {
    const isReady = row.status === 'ready';
    const plan = isReady ? (cachedPlan ?? (row.plan && playedPlan(row.plan as Plan, row.policy))) : undefined;
    if (isReady && !plan && row.live_stream_id === null) return undefined;
    // DRM keys are only created for ready assets.
    const earlyPlan = row.status === 'preparing' && row.policy !== 'drm' ? this.#early.planOf(row.asset_id) : undefined;
    return {
      playbackId: row.playback_id,
      environmentId: row.environment_id,
      policy: row.policy,
      drmConfigurationId: row.drm_configuration_id ?? undefined,
      assetId: row.asset_id,
      status: row.status,
      meta: row.meta ?? {},
      chapters: row.chapters?.chapters ?? [],
      thumbnailTime: row.thumbnail_time ?? undefined,
      tracks: row.tracks,
      ...(row.recording_times && { recordedSessions: row.recording_times.map(sessionOf) }),
      plan: earlyPlan ?? plan ?? undefined,
      early: earlyPlan && true,
      ...(plan?.video?.av1 && listsAv1(row, this.#av1After) && { listsAv1: true }),
    };
  }

  #withBroadcast(playable: Playable): Playable {
    const { assetId, liveStreamId } = playable;
    const live = liveStreamId === undefined ? this.#feeds.ofAsset(assetId) : this.#feeds.ofStream(liveStreamId);
    if (!live) return playable;
    const before = this.#onAir.get(playable);
    if (before?.live === live) return before;
    const onAir: Playable = { ...playable, live, assetId: live.assetId, status: 'ready' };
    this.#onAir.set(playable, onAir);
    return onAir;
  }

  /** No more files may be created by a plan that was withdrawn. */
  #isWithdrawn({ early, assetId, plan }: Playable): boolean {
    return early === true && this.#early.planOf(assetId) !== plan;
  }

  async #findAlternateAudio(assetId: string, trackId: string): Promise<AlternateAudio | undefined> {
    const name = `${assetId} ${trackId}`;
    const cached = this.#alternateAudio.get(name);
    if (cached) return cached;
    const row = isId(trackId) ? await findAlternateAudio(this.#db, assetId, trackId) : undefined;
    if (!row?.plan) return undefined;
    const sourceKey = alternateAudioKey(row.source_asset_id, row.source_track_id, row.joined);
    const alternate = { audio: row.plan as AudioPlan, sourceKey };
    this.#alternateAudio.set(name, alternate);
    return alternate;
  }

  /** Plans are parsed JSON: their text is about as long as what they occupy. */
  #sizeOfPlan(plan: object): number {
    const size = this.#planSizes.get(plan) ?? JSON.stringify(plan).length;
    this.#planSizes.set(plan, size);
    return size;
  }
}

/** A live stream that is not on air, or not again since a restart of the server. */
const streamOf = (row: FoundLiveStream): Playable => ({
  playbackId: row.playback_id,
  environmentId: row.environment_id,
  policy: row.policy,
  ...(row.drm_configuration_id !== null && { drmConfigurationId: row.drm_configuration_id }),
  assetId: row.live_stream_id,
  liveStreamId: row.live_stream_id,
  status: row.status === 'active' ? 'ready' : 'preparing',
  meta: row.meta ?? {},
  chapters: [],
  tracks: [],
});

const sessionOf = ({ started_at: startedAt, duration = 0 }: RecordingTime): RecordedSession => ({
  startedAtSeconds: Date.parse(startedAt) / 1000,
  durationSeconds: duration,
});

/** Only H.264 can be encrypted. */
const playedPlan = (plan: Plan, policy: Playable['policy']): Plan =>
  policy === 'drm' ? withoutOriginal(plan) : withAv1(plan);

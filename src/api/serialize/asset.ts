import { unixSeconds, type Wire, withoutNulls } from '../wire.js';
import { type RenditionRecord, serializeRenditions } from './rendition.js';
import { type ShotsView, serializeShots } from './shots.js';
import { serializeTrack, type TrackRecord, trackRank } from './track.js';

/** What the serializers read from the stored rows. Absent values are omitted from answers, never written as null. */
export interface AssetRecord {
  readonly id: string;
  readonly created_at: Date;
  readonly status: 'preparing' | 'ready' | 'errored';
  readonly progress_state: string;
  readonly progress: number;
  readonly ingest_type: string;
  readonly upload_id: string | null;
  readonly source_asset_id: string | null;
  readonly video_quality: 'basic' | 'plus' | 'premium';
  readonly max_resolution_tier: string;
  readonly mp4_support: string;
  readonly master_access: string;
  readonly normalize_audio: boolean;
  readonly is_test: boolean;
  readonly passthrough: string | null;
  readonly meta: object | null;
  readonly non_standard_input_reasons: object | null;
  readonly error: object | null;
  readonly duration_seconds: number | null;
  readonly aspect_ratio: string | null;
  readonly resolution_tier: string | null;
  readonly max_stored_resolution: string | null;
  readonly max_stored_frame_rate: number | null;
  readonly thumbnail_time: number | null;
  readonly generate_shots: boolean;
  readonly directives: readonly string[] | null;
  readonly static_renditions_status: string | null;
}

export interface PlaybackIdRecord {
  readonly id: string;
  readonly asset_id: string;
  readonly policy: string;
  readonly drm_configuration_id: string | null;
}

/** Playback ids, tracks and renditions are in creation order. */
export interface AssetView {
  readonly asset: AssetRecord;
  readonly playbackIds: readonly PlaybackIdRecord[];
  readonly tracks: readonly TrackRecord[];
  readonly renditions: readonly RenditionRecord[];
  readonly master?: MasterView | undefined;
  readonly shots?: ShotsView | undefined;
}

export interface MasterView {
  readonly status: 'preparing' | 'ready' | 'errored';
  /** A signed URL; present when the master is ready. */
  readonly url?: string;
}

export interface InputRecord {
  readonly settings: object;
  readonly file: object | null;
  readonly early_playback: object | null;
  /** Of the main input. */
  readonly copy_decision: string | null;
}

export const ENCODING_TIER = { basic: 'baseline', plus: 'smart', premium: 'premium' } as const;

export const serializeAsset = ({ asset, playbackIds, tracks, renditions, master, shots }: AssetView): Wire =>
  withoutNulls({
    id: asset.id,
    status: asset.status,
    created_at: unixSeconds(asset.created_at),
    progress: { state: asset.progress_state, progress: asset.progress },
    playback_ids: playbackIds.length > 0 ? playbackIds.map(serializePlaybackId) : undefined,
    master_access: asset.master_access,
    master,
    mp4_support: asset.mp4_support,
    static_renditions: serializeRenditions(asset, renditions),
    normalize_audio: asset.normalize_audio,
    encoding_tier: ENCODING_TIER[asset.video_quality],
    video_quality: asset.video_quality,
    max_resolution_tier: asset.max_resolution_tier,
    ingest_type: asset.ingest_type,
    test: asset.is_test ? true : undefined,
    upload_id: asset.upload_id,
    source_asset_id: asset.source_asset_id,
    passthrough: asset.passthrough,
    meta: asset.meta,
    non_standard_input_reasons: asset.non_standard_input_reasons,
    thumbnail_time: asset.thumbnail_time,
    directives: asset.directives?.map((id) => ({ id })),
    generate_shots: asset.generate_shots ? true : undefined,
    shots: shots && serializeShots(shots),
    ...(asset.status === 'errored' && { errors: asset.error }),
    ...(asset.status === 'ready' && {
      duration: asset.duration_seconds,
      aspect_ratio: asset.aspect_ratio,
      resolution_tier: asset.resolution_tier,
      max_stored_resolution: asset.max_stored_resolution,
      max_stored_frame_rate: asset.max_stored_frame_rate,
      tracks: [...tracks].sort((a, b) => trackRank(a) - trackRank(b)).map(serializeTrack),
    }),
  });

const listed = new WeakMap<AssetRecord, Wire>();

/**
 * Like `serializeAsset`, for lists: an asset that has not changed is the same object at the next read of its page, and so
 * is the result, unless it contains a signed URL, which expires. Callers must not change it.
 */
export const serializeListedAsset = (view: AssetView): Wire => {
  const isLasting = view.master?.url === undefined && view.shots?.manifestUrl === undefined;
  const known = isLasting ? listed.get(view.asset) : undefined;
  const wire = known ?? serializeAsset(view);
  if (isLasting) listed.set(view.asset, wire);
  return wire;
};

export const serializePlaybackId = ({ id, policy, drm_configuration_id }: PlaybackIdRecord): Wire =>
  withoutNulls({ id, policy, drm_configuration_id });

export const serializePlaybackIdOwner = (playbackId: PlaybackIdRecord): Wire => ({
  ...serializePlaybackId(playbackId),
  object: { type: 'asset', id: playbackId.asset_id },
});

export const serializeInput = ({ settings, file, early_playback, copy_decision }: InputRecord): Wire =>
  withoutNulls({ settings: hideCredentials(settings), file, early_playback, copy_decision });

/** Returns the URL as given but without `user:password@`, which is used for fetching and never shown. */
export const hideCredentials = (settings: object): { readonly url?: string } =>
  'url' in settings ? { ...settings, url: String(settings.url).replace(/^(https?:\/\/)[^/?#]*@/i, '$1') } : settings;

export interface CallerRecord {
  readonly tokenName: string;
  readonly permissions: readonly string[];
  readonly environment: { readonly id: string; readonly name: string; readonly type: string };
  readonly organization: { readonly id: string; readonly name: string };
}

export const serializeCaller = (caller: CallerRecord): Wire => ({
  access_token_name: caller.tokenName,
  environment_id: caller.environment.id,
  environment_name: caller.environment.name,
  environment_type: caller.environment.type,
  organization_id: caller.organization.id,
  organization_name: caller.organization.name,
  permissions: caller.permissions,
});

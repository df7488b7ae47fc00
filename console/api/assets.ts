import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { get, request } from './client';
import type { PlaybackId } from './playback-ids';

export interface Track {
  readonly id: string;
  readonly type: 'video' | 'audio' | 'text';
  readonly status?: 'preparing' | 'ready' | 'errored' | 'deleted';
  readonly name?: string;
  readonly language_code?: string;
  readonly text_type?: string;
  readonly text_source?: string;
  readonly closed_captions?: boolean;
  readonly primary?: boolean;
  readonly duration?: number;
  readonly max_width?: number;
  readonly max_height?: number;
  readonly max_frame_rate?: number;
  readonly max_channels?: number;
}

export interface StaticRendition {
  readonly id: string;
  readonly name: string;
  readonly ext: string;
  readonly resolution: string;
  readonly type?: string;
  readonly status: 'preparing' | 'ready' | 'skipped' | 'deleted' | 'errored';
  readonly filesize?: string;
  readonly width?: number;
  readonly height?: number;
}

export interface AssetMeta {
  readonly title?: string;
  readonly creator_id?: string;
  readonly external_id?: string;
}

/** An asset as the public API returns it. */
export interface Asset {
  readonly id: string;
  readonly status: 'preparing' | 'ready' | 'errored';
  /** Seconds since 1970, as text. */
  readonly created_at: string;
  readonly progress?: { readonly state: string; readonly progress: number };
  readonly duration?: number;
  readonly aspect_ratio?: string;
  readonly resolution_tier?: string;
  readonly max_resolution_tier?: string;
  readonly max_stored_frame_rate?: number;
  readonly video_quality?: string;
  readonly ingest_type?: string;
  /** Of recordings. */
  readonly live_stream_id?: string;
  /** Of recordings: whether the broadcast goes on. */
  readonly is_live?: boolean;
  readonly upload_id?: string;
  readonly source_asset_id?: string;
  /** The time of the poster, in seconds; absent for the default. */
  readonly thumbnail_time?: number;
  readonly passthrough?: string;
  readonly test?: boolean;
  readonly meta?: AssetMeta;
  readonly playback_ids?: readonly PlaybackId[];
  readonly tracks?: readonly Track[];
  readonly errors?: { readonly type: string; readonly messages: readonly string[] };
  readonly master_access: 'none' | 'temporary';
  readonly master?: { readonly status: 'preparing' | 'ready' | 'errored'; readonly url?: string };
  readonly static_renditions?: { readonly status: string; readonly files: readonly StaticRendition[] };
}

export interface ListedAsset extends Asset {
  /** A public playback ID, when there is one. */
  readonly poster_playback_id?: string | null;
}

export interface AssetFilter {
  readonly status?: string | undefined;
  readonly search?: string | undefined;
  readonly sort?: string | undefined;
  readonly page: number;
}

interface AssetPage {
  readonly data: readonly ListedAsset[];
  readonly total_row_count: number;
}

/** Rows of a page of the list. */
export const PAGE_SIZE = 50;

export const assetsQuery = (filter: AssetFilter) =>
  queryOptions({
    queryKey: ['asset', 'list', filter],
    queryFn: ({ signal }) => get<AssetPage>('/console/api/assets', { ...filter, limit: PAGE_SIZE }, signal),
    placeholderData: keepPreviousData,
  });

export const assetQuery = (id: string) =>
  queryOptions({
    queryKey: ['asset', id],
    queryFn: ({ signal }) => get<{ data: Asset }>(`/video/v1/assets/${id}`, {}, signal).then(({ data }) => data),
  });

export const deleteAsset = (id: string): Promise<undefined> => request('DELETE', `/video/v1/assets/${id}`);

/** The first characters of an ID, which tell untitled assets from each other. */
export const shortId = (id: string): string => id.slice(0, 8);

/** The title; "Untitled" and a short ID when there is none. */
export const titleOf = ({ meta, id }: Pick<Asset, 'meta' | 'id'>): string => meta?.title || `Untitled ${shortId(id)}`;

export const deletedTitleOf = (id: string): string => `Deleted asset ${shortId(id)}`;

export const assetPath = (id: string): string => `/video/v1/assets/${id}`;

interface AssetChange {
  readonly meta?: { readonly [Name in keyof AssetMeta]?: string | null };
  readonly passthrough?: string;
  readonly thumbnail_time?: number;
}

export const updateAsset = (id: string, change: AssetChange): Promise<unknown> =>
  request('PATCH', assetPath(id), change);

/** Goes back to the default poster. */
export const deleteThumbnailTime = (id: string): Promise<undefined> =>
  request('DELETE', `${assetPath(id)}/thumbnail-time`);

interface NewClip {
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly title: string;
}

/** Makes a new asset of a part of this one, which whoever may watch this one may watch too. */
export const createClip = (asset: Asset, { startSeconds, endSeconds, title }: NewClip): Promise<Asset> => {
  const { policy, drm_configuration_id } = asset.playback_ids?.[0] ?? { policy: 'public' };
  return request<{ data: Asset }>('POST', '/video/v1/assets', {
    inputs: [{ url: `mux://assets/${asset.id}`, start_time: startSeconds, end_time: endSeconds }],
    ...(policy === 'drm'
      ? { advanced_playback_policies: [{ policy, drm_configuration_id }] }
      : { playback_policies: [policy] }),
    ...(asset.video_quality && { video_quality: asset.video_quality }),
    ...(asset.max_resolution_tier && { max_resolution_tier: asset.max_resolution_tier }),
    ...(title !== '' && { meta: { title } }),
  }).then(({ data }) => data);
};

export const addRendition = (id: string, resolution: string): Promise<unknown> =>
  request('POST', `${assetPath(id)}/static-renditions`, { resolution });

export const deleteRendition = (id: string, renditionId: string): Promise<undefined> =>
  request('DELETE', `${assetPath(id)}/static-renditions/${renditionId}`);

export const setMasterAccess = (id: string, access: Asset['master_access']): Promise<unknown> =>
  request('PUT', `${assetPath(id)}/master-access`, { master_access: access });

export interface Problem {
  readonly sentence: string;
  readonly stage?: string | null;
  readonly request_id?: string | null;
  readonly occurred_at?: string | null;
  readonly details?: unknown;
  readonly input_url?: string | null;
  readonly can_retry: boolean;
}

/** Why an asset has failed. */
export const problemQuery = (id: string) =>
  queryOptions({
    queryKey: ['asset', id, 'problem'],
    queryFn: ({ signal }) => get<Problem>(`/console/api/assets/${id}/problem`, {}, signal),
  });

/** Why tracks have failed, by the ID of the track. */
export const trackErrorsQuery = ({ id, tracks = [] }: Asset) => {
  const failed = tracks.filter(({ status }) => status === 'errored').map((track) => track.id);
  return queryOptions({
    queryKey: ['asset', id, 'track-errors', failed],
    queryFn: ({ signal }) =>
      get<{ data: Readonly<Record<string, { readonly messages: readonly string[] }>> }>(
        `/console/api/assets/${id}/track-errors`,
        {},
        signal,
      ).then(({ data }) => data),
    enabled: failed.length > 0,
  });
};

/** The file that an asset is made of, and the renditions that players are offered. */
export interface AssetMedia {
  readonly container: string;
  readonly size_bytes: number;
  /** bit/s of the whole file. */
  readonly bit_rate: number | null;
  readonly video_codec: string | null;
  readonly audio_codec: string | null;
  /** Highest first. */
  readonly renditions: readonly {
    readonly name: string;
    readonly width: number;
    readonly height: number;
    readonly codecs: string;
    /** bit/s at most. */
    readonly bandwidth: number;
    /** The video of the file as it is. */
    readonly is_copy: boolean;
  }[];
}

/** Only for assets that are ready. */
export const mediaQuery = (id: string) =>
  queryOptions({
    queryKey: ['asset', id, 'media'],
    queryFn: ({ signal }) =>
      get<{ data: AssetMedia }>(`/console/api/assets/${id}/media`, {}, signal).then(({ data }) => data),
    staleTime: Number.POSITIVE_INFINITY,
  });

export interface AssetAv1 {
  readonly delivered_bytes: number;
  /** What H.264 would have taken more, about. */
  readonly saved_bytes: number;
}

/** What an asset's AV1 saved in the last 30 days. */
export const av1Query = (id: string) =>
  queryOptions({
    queryKey: ['asset', id, 'av1'],
    queryFn: ({ signal }) =>
      get<{ data: AssetAv1 }>(`/console/api/assets/${id}/av1`, {}, signal).then(({ data }) => data),
  });

/** The titles of up to 100 assets, by ID; those that have none are absent. */
export const titlesQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: ['asset', 'list', 'titles', ids],
    queryFn: ({ signal }) =>
      get<{ data: Readonly<Record<string, string>> }>('/console/api/titles', { ids: ids.join(',') }, signal).then(
        ({ data }) => data,
      ),
    enabled: ids.length > 0,
  });

/** Makes a new asset of the same input and settings. */
export const retryAsset = (id: string): Promise<{ readonly data: Asset }> =>
  request('POST', `/console/api/assets/${id}/retry`);

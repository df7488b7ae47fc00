import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { Asset, ListedAsset } from './assets';
import { get, request } from './client';
import type { PlaybackId } from './playback-ids';

export type LatencyMode = 'standard' | 'reduced' | 'low';

export interface SimulcastTarget {
  readonly id: string;
  readonly url: string;
  readonly stream_key?: string;
  readonly passthrough?: string;
  readonly status: 'idle' | 'starting' | 'broadcasting' | 'errored';
  readonly error_severity?: 'normal' | 'fatal';
}

/** The settings of recordings that the console shows and changes. */
interface RecordingSettings {
  readonly playback_policies?: readonly PlaybackId['policy'][];
  readonly meta?: { readonly title?: string };
  readonly video_quality?: 'plus' | 'premium';
  readonly master_access?: 'none' | 'temporary';
}

/** A live stream as the public API returns it, and whether its encoder is connected. */
export interface LiveStream {
  readonly id: string;
  readonly status: 'idle' | 'active' | 'disabled';
  /** Seconds since 1970, as text. */
  readonly created_at: string;
  readonly stream_key: string;
  readonly latency_mode: LatencyMode;
  /** Seconds. */
  readonly reconnect_window: number;
  /** Seconds. */
  readonly max_continuous_duration: number;
  readonly use_slate_for_standard_latency: boolean;
  readonly reconnect_slate_url?: string;
  readonly playback_ids?: readonly PlaybackId[];
  readonly new_asset_settings: RecordingSettings;
  readonly active_asset_id?: string;
  readonly recent_asset_ids?: readonly string[];
  readonly active_ingest_protocol?: string;
  readonly audio_only?: boolean;
  readonly simulcast_targets?: readonly SimulcastTarget[];
  readonly passthrough?: string;
  readonly meta?: { readonly title?: string };
  readonly test?: boolean;
  readonly connected: boolean;
  readonly recording: boolean;
}

export interface ListedLiveStream extends LiveStream {
  /** That of the current or the latest broadcast; its time is in ISO 8601. */
  readonly latest_recording: { readonly id: string; readonly created_at: string } | null;
}

export interface LiveStreamDetails extends LiveStream {
  /** Servers as encoders expect them, RTMPS first; empty when this server receives none. */
  readonly ingest_urls: readonly string[];
  /** With the stream key and the passphrase; absent when this server does not receive SRT. */
  readonly srt_url?: string;
}

export interface LiveStreamFilter {
  readonly status?: string | undefined;
  readonly search?: string | undefined;
  readonly page: number;
}

/** Rows of a page of the list. */
export const LIVE_PAGE_SIZE = 50;

const LIST = '/video/v1/live-streams';
export const liveStreamPath = (id: string): string => `${LIST}/${id}`;

interface LiveStreamPage {
  readonly data: readonly ListedLiveStream[];
  readonly total_row_count: number;
}

export const liveStreamsQuery = (filter: LiveStreamFilter) =>
  queryOptions({
    queryKey: ['live_stream', 'list', filter],
    queryFn: ({ signal }) =>
      get<LiveStreamPage>('/console/api/live-streams', { ...filter, limit: LIVE_PAGE_SIZE }, signal),
    placeholderData: keepPreviousData,
  });

export const liveStreamQuery = (id: string) =>
  queryOptions({
    queryKey: ['live_stream', id],
    queryFn: ({ signal }) =>
      get<{ data: LiveStreamDetails }>(`/console/api/live-streams/${id}`, {}, signal).then(({ data }) => data),
  });

/** Keys of all queries that a change of a live stream affects. */
export const liveStreamKeys = (id: string) => [
  ['live_stream', id],
  ['live_stream', 'list'],
];

export interface LiveWarning {
  readonly type: string;
  readonly message: string;
  /** ISO 8601. */
  readonly created_at: string;
}

interface LiveWarnings {
  readonly data: readonly LiveWarning[];
  /** The recording of the broadcast that is warned of. */
  readonly asset_id: string | null;
}

/** What was wrong with the current or the latest broadcast; each warning is an event. */
export const liveWarningsQuery = (id: string) =>
  queryOptions({
    queryKey: ['event', 'list', 'live-warnings', id],
    queryFn: ({ signal }) => get<LiveWarnings>(`/console/api/live-streams/${id}/warnings`, {}, signal),
  });

interface RecordingPage {
  readonly data: readonly Asset[];
  readonly next_cursor: string | null;
}

/** The recordings of a live stream, newest first, a page at a time. */
export const recordingsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['asset', 'list', 'recordings', id],
    queryFn: ({ signal, pageParam }) =>
      get<RecordingPage>('/video/v1/assets', { live_stream_id: id, limit: 25, cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor: cursor }) => cursor ?? undefined,
    select: ({ pages }): readonly ListedAsset[] =>
      pages.flatMap(({ data }) =>
        data.map((asset) => ({
          ...asset,
          poster_playback_id: asset.playback_ids?.find(({ policy }) => policy === 'public')?.id ?? null,
        })),
      ),
  });

type Settings = Partial<
  Pick<
    LiveStream,
    | 'latency_mode'
    | 'reconnect_window'
    | 'max_continuous_duration'
    | 'use_slate_for_standard_latency'
    | 'reconnect_slate_url'
    | 'passthrough'
    | 'meta'
    | 'new_asset_settings'
  >
>;

export type NewLiveStream = Settings & {
  readonly playback_policies: readonly PlaybackId['policy'][];
  readonly audio_only?: boolean;
  readonly test?: boolean;
};

const dataOf = <T>({ data }: { readonly data: T }): T => data;

export const createLiveStream = (body: NewLiveStream): Promise<LiveStream> =>
  request<{ data: LiveStream }>('POST', LIST, body).then(dataOf);

export const updateLiveStream = (id: string, change: Settings): Promise<LiveStream> =>
  request<{ data: LiveStream }>('PATCH', liveStreamPath(id), change).then(dataOf);

export const deleteLiveStream = (id: string): Promise<undefined> => request('DELETE', liveStreamPath(id));

export const resetStreamKey = (id: string): Promise<unknown> =>
  request('POST', `${liveStreamPath(id)}/reset-stream-key`);

export const setLiveState = (id: string, action: 'complete' | 'disable' | 'enable'): Promise<unknown> =>
  request('PUT', `${liveStreamPath(id)}/${action}`);

export const addSimulcastTarget = (
  id: string,
  target: Partial<Pick<SimulcastTarget, 'url' | 'stream_key' | 'passthrough'>>,
): Promise<unknown> => request('POST', `${liveStreamPath(id)}/simulcast-targets`, target);

export const deleteSimulcastTarget = (id: string, targetId: string): Promise<undefined> =>
  request('DELETE', `${liveStreamPath(id)}/simulcast-targets/${targetId}`);

import { queryOptions } from '@tanstack/react-query';
import type { VideoQuality } from '../lib/video-quality';
import type { Asset } from './assets';
import { get, request } from './client';

/** How assets are made of what is uploaded. */
export interface NewAssetSettings {
  readonly policy: 'public' | 'signed';
  /** Empty: the default of the environment. */
  readonly quality: VideoQuality | '';
}

export interface Upload {
  readonly id: string;
  readonly status: 'waiting' | 'asset_created' | 'errored' | 'cancelled' | 'timed_out';
  /** Where the file is sent; as long as it waits for one. */
  readonly url?: string;
  readonly asset_id?: string;
  readonly error?: { readonly type: string; readonly message: string };
}

const settingsOf = ({ policy, quality }: NewAssetSettings, title: string): object => ({
  playback_policies: [policy],
  ...(quality !== '' && { video_quality: quality }),
  ...(title !== '' && { meta: { title } }),
});

/** @param title of the asset that is made of the file */
export const createUpload = (title: string, settings: NewAssetSettings): Promise<Upload> =>
  request<{ data: Upload }>('POST', '/video/v1/uploads', {
    cors_origin: location.origin,
    new_asset_settings: settingsOf(settings, title),
  }).then(({ data }) => data);

export const getUpload = (id: string): Promise<Upload> =>
  get<{ data: Upload }>(`/video/v1/uploads/${id}`).then(({ data }) => data);

export const uploadQuery = (id: string) => queryOptions({ queryKey: ['upload', id], queryFn: () => getUpload(id) });

export const cancelUpload = (id: string): Promise<undefined> => request('PUT', `/video/v1/uploads/${id}/cancel`);

/** The server downloads the file itself. */
export const createFromUrl = (url: string, title: string, settings: NewAssetSettings): Promise<Asset> =>
  request<{ data: Asset }>('POST', '/video/v1/assets', { inputs: [{ url }], ...settingsOf(settings, title) }).then(
    ({ data }) => data,
  );

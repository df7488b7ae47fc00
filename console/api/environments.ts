import { queryOptions } from '@tanstack/react-query';
import type { VideoQuality } from '../lib/video-quality';
import { get } from './client';

export interface Environment {
  readonly id: string;
  readonly name: string;
  /** For new assets that set no quality. */
  readonly default_video_quality: VideoQuality;
}

/** All environments; only for those who may administer the server. */
export const environmentsQuery = queryOptions({
  queryKey: ['environment', 'list'],
  queryFn: ({ signal }) =>
    get<{ data: readonly Environment[] }>('/console/api/environments', {}, signal).then(({ data }) => data),
});

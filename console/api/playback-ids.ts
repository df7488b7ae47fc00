import { request } from './client';

export interface PlaybackId {
  readonly id: string;
  readonly policy: 'public' | 'signed' | 'drm';
  readonly drm_configuration_id?: string;
}

/** @param path of the asset or the live stream that gets it */
export const addPlaybackId = (
  path: string,
  body: Pick<PlaybackId, 'policy' | 'drm_configuration_id'>,
): Promise<unknown> => request('POST', `${path}/playback-ids`, body);

export const deletePlaybackId = (path: string, playbackId: string): Promise<undefined> =>
  request('DELETE', `${path}/playback-ids/${playbackId}`);

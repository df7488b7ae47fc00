import type { Asset } from '../../../api/assets';

/** Whether there are frames to choose from. */
export const hasVideo = ({ status, tracks = [] }: Asset): boolean =>
  status === 'ready' && tracks.some(({ type }) => type === 'video');

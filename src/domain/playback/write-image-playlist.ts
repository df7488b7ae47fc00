import type { Storyboard } from '../../media/image/storyboard.js';
import { GENERATION } from '../../media/plan/generation.js';
import type { VideoPlan } from '../../media/plan/plan.js';
import { imagePlaylist, windowStoryboard } from '../../media/playlist/image-playlist.js';
import type { Access } from './access-check.js';
import { IMAGES_RENDITION, parseWindow, renditionChild, writeQuery } from './write-playlist.js';

/**
 * The playlist of the sprite sheet that players show previews from; `segments` is the query value
 * that the multivariant playlist wrote for an instant clip.
 * @throws KinoraError `invalid_parameters`
 */
export const writeImagePlaylist = (
  video: VideoPlan,
  access: Access,
  segments: string | undefined,
): { readonly storyboard: Storyboard; readonly playlist: string } => {
  const storyboard = windowStoryboard(video, parseWindow(segments));
  const signature = access.childQuery(renditionChild(GENERATION, IMAGES_RENDITION, segments));
  const query = writeQuery([segments && `segments=${segments}`, signature]);
  return { storyboard, playlist: imagePlaylist(storyboard, `storyboard.jpg${query}`) };
};

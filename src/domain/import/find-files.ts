import { readAudioRenditions } from '../../media/playlist/read-playlist.js';
import type { PlannedTrack } from './plan-import.js';
import type { SourceAsset } from './source-asset.js';

/**
 * The URL of the playlist with a track's audio; undefined when the multivariant playlist has none
 * for it.
 */
export const findAudioPlaylist = (
  playlist: string,
  playlistUrl: string,
  { name, languageCode }: Pick<PlannedTrack, 'name' | 'languageCode'>,
): string | undefined => {
  const all = readAudioRenditions(playlist, playlistUrl);
  const inLanguage = all.filter(({ language }) => language?.toLowerCase() === languageCode.toLowerCase());
  const foundRendition =
    inLanguage.find((rendition) => rendition.name === name) ??
    all.find((rendition) => rendition.name === name) ??
    (inLanguage.length === 1 ? inLanguage[0] : undefined);
  return foundRendition?.url;
};

/**
 * The name of the best file that the source has of an asset; undefined when it has none with all of
 * its media.
 */
export const findBestRendition = (source: SourceAsset): string | undefined => {
  const hasVideo = source.tracks?.some(({ type }) => type === 'video') ?? true;
  const files = (source.static_renditions?.files ?? []).filter(
    // The files of `mp4_support` are only listed when they are ready.
    ({ name, status = 'ready' }) => status === 'ready' && name?.endsWith(hasVideo ? '.mp4' : '.m4a'),
  );
  const [best] = files.sort((a, b) => (b.width ?? 0) - (a.width ?? 0) || (b.bitrate ?? 0) - (a.bitrate ?? 0));
  return best?.name;
};

import type { Borrowed } from '../../db/schema.js';
import type { SourceAsset } from './source-asset.js';

/** The playback IDs that the import has added at the source, by what the asset had before. */
export const addedPlaybackIds = (source: SourceAsset, { playbackIdsBefore }: Borrowed): string[] =>
  playbackIdsBefore === undefined
    ? []
    : (source.playback_ids ?? [])
        .filter(({ id, policy }) => policy === 'public' && !playbackIdsBefore.includes(id))
        .map(({ id }) => id);

/** The asset as it was before the import changed it at the source. */
export const withoutBorrowed = (source: SourceAsset, borrowed: Borrowed = {}): SourceAsset => {
  const added = addedPlaybackIds(source, borrowed);
  return {
    ...source,
    ...(source.playback_ids && { playback_ids: source.playback_ids.filter(({ id }) => !added.includes(id)) }),
    ...(borrowed.master && { master_access: 'none' }),
  };
};

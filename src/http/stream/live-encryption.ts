import type { FastifyRequest } from 'fastify';
import { type AssetKeys, type ContentKeys, keysOf } from '../../domain/drm/content-keys.js';
import { KeyTags } from '../../domain/drm/key-tags.js';
import type { LiveFeed } from '../../domain/playback/live-feed.js';
import type { LivePlayable } from '../../domain/playback/write-live-playlist.js';
import { KinoraError } from '../../lib/errors.js';
import { encryptFragments } from '../../media/mp4/encrypt-fragments.js';
import type { Logger } from '../../telemetry/logger.js';
import { createEncryptedMedia, EncryptedFeed } from './encrypted-feed.js';
import type { OpenedPlayback } from './playback-opener.js';
import { requestedOrigin } from './requested-origin.js';

/** A broadcast as its viewer gets it. */
export interface OpenedBroadcast extends OpenedPlayback<LivePlayable> {
  /** Only present with DRM; then, what the broadcast sends is encrypted. */
  readonly tags?: KeyTags;
}

interface LiveEncryptionDeps {
  readonly contentKeys: Pick<ContentKeys, 'get'>;
  /** The base of absolute playback URLs; by default the requested host. */
  readonly streamUrl: string | undefined;
  readonly logger: Logger;
}

/** Sample entries `avc1` and `mp4a`. */
const ENCRYPTED_CODECS = /^(?:avc1|mp4a)\./;

/**
 * Puts the encryption between a broadcast and viewers with DRM. The keys are those of the asset
 * that the recording becomes.
 */
export class LiveEncryption {
  readonly #deps: LiveEncryptionDeps;
  readonly #media = createEncryptedMedia();
  /** By broadcast: the tracks that were tried, and whether they can be encrypted. */
  readonly #tried = new WeakMap<LiveFeed, Map<string, Promise<boolean>>>();

  constructor(deps: LiveEncryptionDeps) {
    this.#deps = deps;
  }

  /** @throws KinoraError `asset_not_ready` when nothing, or only audio, can be encrypted */
  async open(request: FastifyRequest, opened: OpenedPlayback<LivePlayable>): Promise<OpenedBroadcast> {
    const { playable, access } = opened;
    const { contentKeys, streamUrl } = this.#deps;
    // Without DRM, nothing is awaited.
    const loading = keysOf(contentKeys, playable);
    if (!loading) return opened;
    const keys = await loading;
    const live = await this.#encrypt(playable.live, keys);
    const origin = streamUrl ?? requestedOrigin(request) ?? '';
    const tags = new KeyTags(keys, `${origin}/license/clearkey/${playable.playbackId}`);
    return { playable: { ...playable, live }, access, tags };
  }

  async #encrypt(feed: LiveFeed, keys: AssetKeys): Promise<LiveFeed> {
    const names = feed.trackNames;
    const isEncrypted = await Promise.all(names.map((name) => this.#canEncrypt(feed, name, keys)));
    const trackNames = names.filter((_, index) => isEncrypted[index]);
    const isVideo = (name: string): boolean => feed.track(name)?.info.kind === 'video';
    if (trackNames.length === 0 || (names.some(isVideo) && !trackNames.some(isVideo)))
      throw new KinoraError('asset_not_ready', { messages: ['What the encoder sends can not be encrypted'] });
    return new EncryptedFeed({ feed, trackNames, keys, media: this.#media });
  }

  /** Streams with many slices or with slice groups can't; the first part shows that. */
  async #canEncrypt(feed: LiveFeed, name: string, keys: AssetKeys): Promise<boolean> {
    const state = feed.track(name);
    if (!state || !ENCRYPTED_CODECS.test(state.info.codecs)) return false;
    const first = state.segments.find(({ parts }) => parts.length > 0);
    // Rungs that nobody watches yet; Kinora encodes them.
    if (!first) return true;
    const tried = this.#tried.get(feed) ?? new Map<string, Promise<boolean>>();
    this.#tried.set(feed, tried);
    const before = tried.get(name);
    if (before) return before;
    const trying = this.#tryPart(feed, name, first, keys);
    tried.set(name, trying);
    trying.catch(() => tried.delete(name));
    return trying;
  }

  async #tryPart(
    feed: LiveFeed,
    name: string,
    { number, config }: { readonly number: number; readonly config: number },
    keys: AssetKeys,
  ): Promise<boolean> {
    const init = feed.init(name, config);
    const part = await feed.read(name, number, 0);
    if (!init || !part) return true;
    try {
      // Which key it is makes no difference.
      encryptFragments(part, init, keys.video);
      return true;
    } catch (error) {
      const { logger } = this.#deps;
      logger.warn({ err: error, asset_id: feed.assetId, track: name }, 'live track can not be encrypted');
      return false;
    }
  }
}

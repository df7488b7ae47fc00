import { LRUCache } from 'lru-cache';
import type { AssetKeys } from '../../domain/drm/content-keys.js';
import { psshBoxesOf } from '../../domain/drm/key-tags.js';
import type { LiveFeed, LiveSubtitles } from '../../domain/playback/live-feed.js';
import { KinoraError } from '../../lib/errors.js';
import type { ClosedCaptions } from '../../media/captions/caption-decoder.js';
import type { LiveTimes, LiveTrackState } from '../../media/live/live-track.js';
import { encryptFragments } from '../../media/mp4/encrypt-fragments.js';
import { encryptInit } from '../../media/mp4/encrypt-init.js';

/** The newest parts and segments of a few broadcasts with all their rungs. */
const MAX_BYTES = 64 * 2 ** 20;

/**
 * Encrypted parts and segments of broadcasts, in memory: however many viewers ask for one, it is
 * encrypted once while it is new.
 */
export type EncryptedMedia = LRUCache<string, Uint8Array, () => Promise<Uint8Array | undefined>>;

export const createEncryptedMedia = (): EncryptedMedia =>
  new LRUCache({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ length }) => Math.max(1, length),
    fetchMethod: (_id, _stale, { context: encrypt }) => encrypt(),
    // Those who wait get it, even if there is no room for it any more.
    ignoreFetchAbort: true,
  });

interface EncryptedFeedParts {
  readonly feed: LiveFeed;
  /** Names of the tracks that can be encrypted, in the order of the broadcast. */
  readonly trackNames: readonly string[];
  readonly keys: AssetKeys;
  readonly media: EncryptedMedia;
}

/** A broadcast as DRM playback IDs show it: the same tracks, with encrypted files. */
export class EncryptedFeed implements LiveFeed {
  readonly trackNames: readonly string[];
  readonly #feed: LiveFeed;
  readonly #keys: AssetKeys;
  readonly #media: EncryptedMedia;

  constructor({ feed, trackNames, keys, media }: EncryptedFeedParts) {
    this.#feed = feed;
    this.trackNames = trackNames;
    this.#keys = keys;
    this.#media = media;
  }

  get assetId(): string {
    return this.#feed.assetId;
  }

  get times(): LiveTimes {
    return this.#feed.times;
  }

  get firstDiscontinuity(): number {
    return this.#feed.firstDiscontinuity;
  }

  get subtitles(): LiveSubtitles | undefined {
    return this.#feed.subtitles;
  }

  get captions(): readonly ClosedCaptions[] {
    return this.#feed.captions;
  }

  track(name: string): LiveTrackState | undefined {
    const track = this.#feed.track(name);
    return track?.info.kind === 'text' || this.trackNames.includes(name) ? track : undefined;
  }

  waitFor(...request: Parameters<LiveFeed['waitFor']>): Promise<boolean> {
    return this.#feed.waitFor(...request);
  }

  init(name: string, config: number): Uint8Array | undefined {
    const track = this.track(name)?.info.kind;
    if (!track || track === 'text') return undefined;
    const clear = this.#feed.init(name, config);
    return clear && encryptInit(clear, { ...this.#keys[track], pssh: psshBoxesOf(this.#keys, track) });
  }

  async read(name: string, segment: number, part?: number): Promise<Uint8Array | undefined> {
    const track = this.track(name)?.info.kind;
    if (!track) return undefined;
    // Text is sent as it is, like that of assets.
    if (track === 'text') return this.#feed.read(name, segment, part);
    const { configurationId } = this.#keys;
    const state = this.#feed.track(name);
    const version = state?.segments[segment - (state.segments[0]?.number ?? 0)]?.version ?? state?.version;
    const id = [this.assetId, configurationId, name, segment, part, version].join(' ');
    const encrypt = async (): Promise<Uint8Array | undefined> => {
      const clear = await this.#feed.read(name, segment, part);
      // The segment is known by now.
      const { segments } = this.#feed.track(name)!;
      const config = segments[segment - (segments[0]?.number ?? 0)]?.config;
      const init = config === undefined ? undefined : this.#feed.init(name, config);
      if (!clear || !init) return undefined;
      try {
        return encryptFragments(clear, init, this.#keys[track]);
      } catch (cause) {
        throw new KinoraError('media_failed', {
          cause,
          details: { stage: 'encrypt', asset_id: this.assetId, name, segment },
        });
      }
    };
    return this.#media.fetch(id, { context: encrypt });
  }
}

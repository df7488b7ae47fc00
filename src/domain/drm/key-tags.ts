import { psshBox, systemIds } from '../../media/mp4/pssh.js';
import type { AssetKeys } from './content-keys.js';
import { clearKeyAttributes } from './key-signals.js';
import type { ContentKey, KeyTrack } from './key-source.js';

/** The key information in playlists of a DRM playback ID. */
export class KeyTags {
  readonly #keys: AssetKeys;
  readonly #licenseUrl: string;

  /** @param licenseUrl the URL of ClearKey licenses */
  constructor(keys: AssetKeys, licenseUrl: string) {
    this.#keys = keys;
    this.#licenseUrl = licenseUrl;
  }

  /** Attributes of each `EXT-X-KEY` of a rendition. */
  ofTrack(track: KeyTrack): string[] {
    return this.#attributesOf(this.#keys[track], false);
  }

  /** Attributes of each `EXT-X-SESSION-KEY`: those of every key that the asset's renditions use. */
  ofSession(hasVideo: boolean): string[] {
    // Audio may be added to an asset later; if there is video, the audio key is announced from the
    // start.
    const used = hasVideo ? [this.#keys.video, this.#keys.audio] : [this.#keys.audio];
    return [...new Set(used.flatMap((key) => this.#attributesOf(key, true)))];
  }

  #attributesOf({ kid, systems }: ContentKey, isSession: boolean): string[] {
    return [
      ...systems.flatMap(({ keyAttributes, sessionAttributes }) =>
        [isSession ? (sessionAttributes ?? keyAttributes) : keyAttributes].filter((text) => text !== undefined),
      ),
      // Last, because players use the first format that they support.
      ...(this.#keys.settings.clearKey ? [clearKeyAttributes(kid, this.#licenseUrl)] : []),
    ];
  }
}

/**
 * The `pssh` boxes of an init segment. Without the common box, browsers don't request a ClearKey
 * license. It lists all keys of the asset, because hls.js has one ClearKey session, which it
 * creates from the first box that it finds.
 */
export const psshBoxesOf = (keys: AssetKeys, track: KeyTrack): Uint8Array[] => [
  psshBox(systemIds.common, new Uint8Array(0), distinctKids(keys)),
  ...keys[track].systems.flatMap(({ systemId, pssh }) =>
    pssh && systemId !== systemIds.common ? [Buffer.from(pssh, 'base64')] : [],
  ),
];

const distinctKids = ({ video, audio }: AssetKeys): Uint8Array[] =>
  Buffer.compare(video.kid, audio.kid) === 0 ? [video.kid] : [video.kid, audio.kid];

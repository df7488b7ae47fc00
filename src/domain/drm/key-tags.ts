import { psshBox, systemIds } from '../../media/mp4/pssh.js';
import type { Plan } from '../../media/plan/plan.js';
import type { AssetKeys } from './content-keys.js';
import { clearKeyAttributes } from './key-signals.js';
import type { ContentKey, KeyTrack } from './key-source.js';

/** What playlists and init segments of a DRM playback id tell of its keys. */
export interface KeyTags {
  /** Attributes of each `EXT-X-KEY` of a rendition. */
  ofTrack(track: KeyTrack): string[];
  /** Attributes of each `EXT-X-SESSION-KEY`: those of every key that the asset's renditions use. */
  ofSession(plan: Plan): string[];
}

/** @param licenseUrl of ClearKey */
export const keyTags = (keys: AssetKeys, licenseUrl: string): KeyTags => {
  const attributesOf = ({ kid, systems }: ContentKey, isSession: boolean): string[] => [
    ...systems.flatMap(({ keyAttributes, sessionAttributes }) =>
      [isSession ? (sessionAttributes ?? keyAttributes) : keyAttributes].filter((text) => text !== undefined),
    ),
    // Last: players take the first format that they know and can use.
    ...(keys.settings.clearKey ? [clearKeyAttributes(kid, licenseUrl)] : []),
  ];
  return {
    ofTrack: (track) => attributesOf(keys[track], false),
    // Audio may be added to an asset later; its key is announced from the start where there is video.
    ofSession: ({ video }) => {
      const used = video ? [keys.video, keys.audio] : [keys.audio];
      return [...new Set(used.flatMap((key) => attributesOf(key, true)))];
    },
  };
};

/**
 * The `pssh` boxes of an init segment. Without the common one, browsers don't ask for a ClearKey license. It names all keys of
 * the asset, because hls.js has one ClearKey session, which it makes from the first box that it meets.
 */
export const psshBoxesOf = (keys: AssetKeys, track: KeyTrack): Uint8Array[] => [
  psshBox(systemIds.common, new Uint8Array(0), distinctKids(keys)),
  ...keys[track].systems.flatMap(({ systemId, pssh }) =>
    pssh && systemId !== systemIds.common ? [Buffer.from(pssh, 'base64')] : [],
  ),
];

const distinctKids = ({ video, audio }: AssetKeys): Uint8Array[] =>
  Buffer.compare(video.kid, audio.kid) === 0 ? [video.kid] : [video.kid, audio.kid];

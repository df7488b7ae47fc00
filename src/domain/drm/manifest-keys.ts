import { systemIds } from '../../media/mp4/pssh.js';
import type { DashKey } from '../../media/playlist/dash-protection.js';
import type { AssetKeys } from './content-keys.js';
import type { KeyTrack } from './key-source.js';

/**
 * The name that DASH-IF registered for ClearKey. Players make the license request of the key ID:
 * with a box dash.js makes a wrong one.
 */
const CLEARKEY = { systemId: 'e2719d58-a985-b3c9-781a-b030af78d30e', name: 'ClearKey1.0' };
const NAMES: ReadonlyMap<string, string> = new Map([
  [systemIds.widevine, 'Widevine'],
  [systemIds.playready, 'MSPR 2.0'],
]);

/**
 * What a DASH manifest tells of the keys of a DRM playback ID. It names no license addresses: Shaka
 * Player would ask that of ClearKey without the token that the page gives it.
 */
export const manifestKeys = (keys: AssetKeys): Readonly<Record<KeyTrack, DashKey>> => {
  const keyOf = (track: KeyTrack): DashKey => ({
    kid: keys[track].kid,
    systems: [
      ...keys[track].systems.flatMap(({ systemId, pssh }) => {
        return pssh === undefined ? [] : { systemId, pssh, name: NAMES.get(systemId) };
      }),
      ...(keys.settings.clearKey ? [CLEARKEY] : []),
    ],
  });
  return { video: keyOf('video'), audio: keyOf('audio') };
};

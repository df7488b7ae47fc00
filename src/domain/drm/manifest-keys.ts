import { systemIds } from '../../media/mp4/pssh.js';
import type { DashKey } from '../../media/playlist/dash-protection.js';
import type { AssetKeys } from './content-keys.js';
import type { KeyTrack } from './key-source.js';
import { commonPssh } from './key-tags.js';
import { keySystemsOf } from './license.js';

/** The name that DASH-IF registered for ClearKey; init segments carry the common one. */
const CLEARKEY_SYSTEM = 'e2719d58-a985-b3c9-781a-b030af78d30e';
const NAMES: ReadonlyMap<string, string> = new Map([
  [systemIds.widevine, 'Widevine'],
  [systemIds.playready, 'MSPR 2.0'],
]);
const LICENSE_PATHS: ReadonlyMap<string, string> = new Map([
  [systemIds.widevine, 'widevine'],
  [systemIds.playready, 'playready'],
]);

/**
 * What a DASH manifest tells of the keys of a DRM playback ID. License addresses carry no token, which players add.
 * @param licenseUrl of a key system, by the name that it has in addresses
 */
export const manifestKeys = (
  keys: AssetKeys,
  licenseUrl: (system: string) => string,
): Readonly<Record<KeyTrack, DashKey>> => {
  const licensed = keySystemsOf(keys);
  const clearKey = {
    systemId: CLEARKEY_SYSTEM,
    name: 'ClearKey1.0',
    pssh: Buffer.from(commonPssh(keys)).toString('base64'),
    licenseUrl: licenseUrl('clearkey'),
  };
  const keyOf = (track: KeyTrack): DashKey => ({
    kid: keys[track].kid,
    systems: [
      ...keys[track].systems.flatMap(({ systemId, pssh }) => {
        if (pssh === undefined) return [];
        const name = NAMES.get(systemId);
        const path = LICENSE_PATHS.get(systemId);
        return {
          systemId,
          pssh,
          ...(name !== undefined && { name }),
          ...(path !== undefined && licensed.includes(path) && { licenseUrl: licenseUrl(path) }),
        };
      }),
      ...(keys.settings.clearKey ? [clearKey] : []),
    ],
  });
  return { video: keyOf('video'), audio: keyOf('audio') };
};

import { newKeyBytes } from '../../lib/ids.js';
import { ownSignals } from './key-signals.js';
import { type KeySource, keyTracks } from './key-source.js';
import type { DrmSettings } from './settings.js';

const KEY_BYTES = 16;

/** Key source `local`: random keys for each asset. */
export const localKeys: KeySource = {
  getKeys: async () =>
    keyTracks.map((track) => {
      const [kid, key, iv] = [newKeyBytes(KEY_BYTES), newKeyBytes(KEY_BYTES), newKeyBytes(KEY_BYTES)];
      return { track, kid, key, iv, systems: ownSignals(kid) };
    }),
};

/** Key source `static`: the same keys for all assets. A vector that is not given is the key ID, as is usual for raw keys. */
export const staticKeys = (keys: NonNullable<DrmSettings['keys']>): KeySource => ({
  getKeys: async () =>
    keyTracks.map((track) => {
      const { kid, key, iv = kid } = keys[track];
      const [kidBytes, keyBytes, ivBytes] = [kid, key, iv].map((digits) => Buffer.from(digits, 'hex'));
      return { track, kid: kidBytes!, key: keyBytes!, iv: ivBytes!, systems: ownSignals(kidBytes!) };
    }),
});

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

/**
 * Key source `static`: the same keys for all assets. A missing vector is chosen at random for each
 * asset.
 */
export const staticKeys = (keys: NonNullable<DrmSettings['keys']>): KeySource => ({
  getKeys: async () =>
    keyTracks.map((track) => {
      const { kid, key, iv } = keys[track];
      const kidBytes = Buffer.from(kid, 'hex');
      const ivBytes = iv === undefined ? newKeyBytes(KEY_BYTES) : Buffer.from(iv, 'hex');
      return { track, kid: kidBytes, key: Buffer.from(key, 'hex'), iv: ivBytes, systems: ownSignals(kidBytes) };
    }),
});

// Commits files of a known content forever and prints each name once it is visible, until it is
// killed.
import { SegmentStore } from '#kinora/cache/segment-store.js';
import { systemClock } from '#kinora/lib/clock.js';

const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
const store = await SegmentStore.open({ dir: process.argv[2], maxBytes: 1e9, logger: quiet, clock: systemClock });
const commitForEver = async (first, step) => {
  for (let number = first; ; number += step) {
    const key = {
      assetId: 'AssetAssetAssetAssetAssetAssetAssetAsset',
      plan: 1,
      rendition: '720p',
      file: `${number}.m4s`,
    };
    await store.get(key, ({ commit }) => commit(key, Buffer.alloc(300_000, number % 256)));
    process.stdout.write(`${key.file}\n`);
  }
};
await Promise.all([0, 1, 2, 3].map((first) => commitForEver(first, 4)));

import { isDeepStrictEqual } from 'node:util';
import type { Plan } from './plan.js';

/**
 * Whether the same segments are made by two plans. Only the bitrates that they announce for what is
 * copied may differ, and what is said about them: from a predicted index, they are too high.
 */
export const makesSameFiles = (one: Plan, other: Plan): boolean =>
  isDeepStrictEqual(withoutCopiedRates(one), withoutCopiedRates(other));

const NONE = { bandwidth: 0, averageBandwidth: 0 };

const withoutCopiedRates = ({ video, audio, leastTargetSeconds: _, ...plan }: Plan): unknown => ({
  ...plan,
  ...(video && {
    video: {
      ...video,
      copyDecision: '',
      renditions: video.renditions.map((rendition) =>
        rendition.kind === 'copy' ? { ...rendition, ...NONE } : rendition,
      ),
      ...(video.original && { original: { ...video.original, ...NONE } }),
    },
  }),
  ...(audio && { audio: audio.mode === 'copy' ? { ...audio, bitRate: 0, bandwidth: 0 } : audio }),
});

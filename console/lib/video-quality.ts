/** The qualities of a video, the lowest first, and what they are called. */
export const videoQualities = [
  ['basic', 'Basic'],
  ['plus', 'Plus'],
  ['premium', 'Premium'],
] as const;

export type VideoQuality = (typeof videoQualities)[number][0];

import type { MediaJob } from './protocol.js';

/** Generous for the slowest machine: they end work that would never end. Background work has ten times as long. */
export const defaultDeadlineMs: Record<MediaJob['kind'], number> = {
  probe: 30_000,
  index: 15 * 60_000,
  'predict-index': 60_000,
  sanity: 60_000,
  complexity: 60_000,
  'video-segment': 60_000,
  'video-config': 30_000,
  'audio-chunk': 60_000,
  loudness: 3 * 3600_000,
  mezzanine: 30 * 60_000,
  concatenate: 30 * 60_000,
  remux: 3 * 3600_000,
  'embedded-text': 3 * 3600_000,
  sample: 5 * 60_000,
  'overlay-image': 30_000,
  still: 60_000,
  animated: 2 * 60_000,
  storyboard: 5 * 60_000,
  'shot-scores': 30 * 60_000,
  'find-speech': 30 * 60_000,
  'speech-audio': 5 * 60_000,
  'recognize-speech': 60 * 60_000,
  'frame-quality': 10 * 60_000,
};

/**
 * What a viewer must get of a fixture, worked out from its recipe and from FFmpeg's own pass over
 * the source.
 */
import { type EncodedName, fixture, recipeOf } from './fixtures.js';
import { type MeasuredAudio, type MeasuredFrame, readAudio, readFrameCounters } from './measure.js';

export interface SourceTruth {
  readonly frames: readonly { readonly counter: number; readonly seconds: number; readonly luma: number }[];
  /** `startSeconds` is on the timeline of the presentation. */
  readonly audio?: MeasuredAudio;
  /** End of the longer of video and audio. */
  readonly durationSeconds: number;
  /** Longest distance of two frames. */
  readonly frameSeconds: number;
  /**
   * Source time that is zero on the timeline, less what the recipe added: times of marks and tones
   * count from here.
   */
  readonly recipeZeroSeconds: number;
}

const spaceEvenly = (frames: MeasuredFrame[], [num, den]: readonly [number, number]): void =>
  frames.forEach((frame, index) => {
    frames[index] = { ...frame, ptsSeconds: (index * den) / num };
  });

/** Zero is the earliest presented frame or sample; the first frame is displayed from zero on. */
export const readSourceTruth = async (name: EncodedName): Promise<SourceTruth> => {
  const path = await fixture(name);
  const { video, audio, muxer, firstCounter = 0 } = recipeOf(name);
  const measured = video === undefined ? [] : readFrameCounters(path);
  // AVI has no presentation times: FFmpeg reports those of reordered frames late, and the last
  // one's not at all.
  if (muxer === 'avi' && (video?.bFrames ?? 0) > 0) spaceEvenly(measured, video!.rate);
  const measuredAudio = audio === undefined ? undefined : readAudio(path);
  const zero = Math.min(measured[0]?.ptsSeconds ?? Number.POSITIVE_INFINITY, measuredAudio?.startSeconds ?? 1e9);
  const frames = measured.map(({ counter, ptsSeconds, luma }, index) => ({
    counter,
    luma,
    seconds: index === 0 ? 0 : ptsSeconds - zero,
  }));
  const rate = (video?.rate[0] ?? 0) / (video?.rate[1] ?? 1) / (video?.interlaced === true ? 2 : 1);
  const frameSeconds = video?.deltasMs === undefined ? 1 / rate : Math.max(...video.deltasMs) / 1000;
  const lastDelta = video?.deltasMs?.[(measured.length - 1) % video.deltasMs.length];
  const videoEnd = (frames.at(-1)?.seconds ?? 0) + (lastDelta === undefined ? 1 / rate : lastDelta / 1000);
  const audioEnd =
    measuredAudio === undefined
      ? 0
      : measuredAudio.startSeconds -
        zero +
        (measuredAudio.channels[0] as Float32Array).length / measuredAudio.sampleRate;
  // Where frame n would be by the recipe, against where it is: what muxing and reading shifted
  // everything by.
  const first = measured[0];
  const recipeFirst = ((first?.counter ?? 0) - firstCounter) / rate + (video?.startSeconds ?? 0);
  const recipeZeroSeconds = first === undefined ? 0 : recipeFirst - (first.ptsSeconds - zero);
  return {
    frames,
    ...(measuredAudio && { audio: { ...measuredAudio, startSeconds: measuredAudio.startSeconds - zero } }),
    durationSeconds: Math.max(video === undefined ? 0 : videoEnd, audioEnd),
    frameSeconds: video === undefined ? 0 : frameSeconds,
    recipeZeroSeconds,
  };
};

import { useCallback, useEffect, useRef, useState } from 'react';
import type { Asset } from '../../../api/assets';

const USUAL_FRAME_RATE = 30;
/** Browsers round the times of frames to this. */
const MICROSECOND = 1e-6;

/** How long a frame is displayed. */
export const frameSecondsOf = ({ max_stored_frame_rate: rate = 0 }: Asset): number =>
  1 / (rate > 0 ? rate : USUAL_FRAME_RATE);

const round = (seconds: number, digits: number): number => Number(Math.max(0, seconds).toFixed(digits));

/**
 * Times by which the server finds exactly this frame. The end of a clip is not part of it: a clip
 * until the end of a frame has that frame as its last one.
 */
export const timesOf = (startSeconds: number, frameSeconds: number) => ({
  poster: round(startSeconds + frameSeconds / 2, 3),
  clipStart: round(startSeconds + MICROSECOND, 6),
  clipEnd: round(startSeconds + frameSeconds - 2 * MICROSECOND, 6),
});

/** For browsers that don't tell the times of frames: as if all of them were equally long. */
const followTime = (video: HTMLVideoElement, frameSeconds: number, set: (seconds: number) => void): (() => void) => {
  const update = (): void => set(Math.floor(video.currentTime / frameSeconds + 0.01) * frameSeconds);
  const events = ['seeked', 'timeupdate'];
  for (const event of events) video.addEventListener(event, update);
  return () => {
    for (const event of events) video.removeEventListener(event, update);
  };
};

/** The frame that the player displays, and ways to others. */
export const useFrame = (video: HTMLVideoElement | undefined, frameSeconds: number) => {
  const [startSeconds, setStart] = useState(0);
  // Known before the next rendering: a key that is held is faster.
  const latest = useRef(0);
  const set = useCallback((seconds: number): void => {
    latest.current = seconds;
    setStart(seconds);
  }, []);

  useEffect(() => {
    if (!video) return;
    set(video.currentTime);
    if (typeof video.requestVideoFrameCallback !== 'function') return followTime(video, frameSeconds, set);
    const show = (_: number, { mediaTime }: VideoFrameCallbackMetadata): void => {
      request = video.requestVideoFrameCallback(show);
      const { seeking, paused, currentTime } = video;
      if (seeking) return;
      // It may be the frame before a seek that has just ended, and some frames are displayed for
      // long.
      const isBefore = paused && currentTime - mediaTime > 1.25 * frameSeconds;
      set(isBefore ? currentTime - frameSeconds / 2 : mediaTime);
    };
    let request = video.requestVideoFrameCallback(show);
    return () => video.cancelVideoFrameCallback(request);
  }, [video, frameSeconds, set]);

  /** Goes to the frame that begins at a time. */
  const goTo = (seconds: number): void => {
    if (!video) return;
    video.pause();
    set(Math.max(0, Math.min(seconds, video.duration - frameSeconds)));
    // The middle of the frame, whichever way the browser rounds.
    video.currentTime = latest.current + frameSeconds / 2;
  };
  return { startSeconds, goTo, step: (frames: number): void => goTo(latest.current + frames * frameSeconds) };
};

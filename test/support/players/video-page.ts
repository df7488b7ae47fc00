/** What browser suites do with the video of a page, whichever player runs in it. */
import type { Page } from 'playwright-core';
import type { PlayedFrame } from './chromium.js';

declare global {
  interface Window {
    /** Frequency of the loudest tone that is heard now. */
    loudest(): number;
  }
}

/**
 * Frames that do not belong to their time: counter n is shown at n / rate, later by what was cut
 * off in front.
 */
export const wrongFrames = (frames: readonly PlayedFrame[], rate: number, cutSeconds = 0): PlayedFrame[] =>
  frames.filter(({ mediaSeconds, counter }) => Math.abs(counter - (mediaSeconds + cutSeconds) * rate) > 0.5);

/** Moves the video, and waits until it is there. */
export const seekTo = (page: Page, seconds: number): Promise<void> =>
  page.evaluate(
    (time) =>
      new Promise<void>((resolve) => {
        const video = document.querySelector('video')!;
        video.addEventListener('seeked', () => resolve(), { once: true });
        video.currentTime = time;
      }),
    seconds,
  );

/** Waits until the last frame that was read belongs to a time. */
export const untilShown = (page: Page, seconds: number, rate: number): Promise<unknown> =>
  page.waitForFunction(
    ([time, perSecond]) => {
      const last = window.playedFrames.at(-1);
      return last !== undefined && Math.abs(last.mediaSeconds - time!) <= 1 / perSecond!;
    },
    [seconds, rate],
  );

/** Texts that the video shows now. */
export const shownTexts = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelector('video')!.textTracks].flatMap(({ activeCues }) =>
      [...(activeCues ?? [])].map((cue) => (cue as VTTCue).text),
    ),
  );

/** Listens to the sound of the video from now on. */
export const listenToTones = (page: Page): Promise<void> =>
  page.evaluate(async () => {
    const context = new AudioContext({ sampleRate: 48_000 });
    const analyser = context.createAnalyser();
    analyser.fftSize = 4096;
    context.createMediaElementSource(document.querySelector('video')!).connect(analyser).connect(context.destination);
    const levels = new Float32Array(analyser.frequencyBinCount);
    window.loudest = () => {
      analyser.getFloatFrequencyData(levels);
      return (levels.indexOf(Math.max(...levels)) * 48_000) / 4096;
    };
    await context.resume();
  });

/** Waits until one of some tones is the loudest. */
export const untilTone = (page: Page, tones: readonly number[]): Promise<unknown> =>
  page.waitForFunction((wanted) => wanted.some((tone) => Math.abs(window.loudest() - tone) < 25), tones);

import { ErrorDetails, ErrorTypes, Events } from 'hls.js';
import { EarlyHls } from './early-hls.js';
import { messageFor, showMessage, UNSUPPORTED } from './message.js';
import { page, root } from './page-data.js';
import type { Settings } from './settings.js';

/** A video that has to be made first gets its controls after this time. */
const CONTROLS_AFTER_MS = 1000;

/** Safari plays HLS itself, which AirPlay needs. Encrypted videos need the license requests of hls.js. */
const playsNatively = (video: HTMLVideoElement): boolean =>
  page.keySystems === '' &&
  video.canPlayType('application/vnd.apple.mpegurl') !== '' &&
  ('webkitSupportsPresentationMode' in video || !EarlyHls.isSupported());

const startHls = (video: HTMLVideoElement, settings: Settings): EarlyHls => {
  const hls = new EarlyHls({ startPosition: settings.startSeconds || -1 });
  hls.on(Events.ERROR, (_, { fatal, type, details, response }) => {
    if (!fatal) return;
    if (type !== ErrorTypes.MEDIA_ERROR) {
      hls.destroy();
      showMessage(details === ErrorDetails.KEY_SYSTEM_NO_ACCESS ? UNSUPPORTED : messageFor(response?.code));
    } else if (!hls.isTakenOver) hls.recoverMediaError();
  });
  hls.loadSource(page.source);
  hls.attachMedia(video);
  return hls;
};

const loadControls = async (video: HTMLVideoElement, hls: EarlyHls | undefined, settings: Settings): Promise<void> => {
  const { addControls } = await import('./controls.js');
  // The video may have turned out to be unplayable.
  if (root.contains(video)) addControls(video, hls, settings);
};

/** Plays the video, and shows the controls as soon as they can't delay its first frame. */
export const play = (settings: Settings): void => {
  const video = root.querySelector('video')!;
  video.hidden = false;
  video.muted = settings.isMuted;
  video.loop = settings.isLooping;
  if (settings.showsPoster && page.poster !== '') video.poster = page.poster;
  if (playsNatively(video)) {
    void loadControls(video, undefined, settings);
    return;
  }
  if (!EarlyHls.isSupported()) {
    showMessage(UNSUPPORTED);
    return;
  }
  const hls = startHls(video, settings);
  // Browsers may refuse autoplay; the viewer can then use the controls.
  if (settings.isAutoplaying) video.play().catch(() => undefined);
  let isLoading = false;
  const load = (): void => {
    if (!isLoading) void loadControls(video, hls, settings);
    isLoading = true;
  };
  video.addEventListener('loadeddata', () => requestAnimationFrame(load), { once: true });
  setTimeout(load, CONTROLS_AFTER_MS);
};

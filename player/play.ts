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

/** Plays the video, and shows the controls as soon as they can't delay its first frame. */
export const play = (settings: Settings): void => {
  const video = root.querySelector('video')!;
  video.hidden = false;
  video.muted = settings.isMuted;
  video.loop = settings.isLooping;
  if (settings.showsPoster && page.poster !== '') video.poster = page.poster;
  if (playsNatively(video))
    return void import('./controls.js').then(({ addControls }) => addControls(video, undefined, settings));
  if (!EarlyHls.isSupported()) return showMessage(UNSUPPORTED);
  const hls = startHls(video, settings);
  // Browsers may refuse autoplay; the viewer can then use the controls.
  if (settings.isAutoplaying) video.play().catch(() => undefined);

  let isShown = false;
  const showControls = async (): Promise<void> => {
    if (isShown) return;
    isShown = true;
    const { addControls } = await import('./controls.js');
    if (root.contains(video)) addControls(video, hls, settings);
  };
  video.addEventListener('loadeddata', () => requestAnimationFrame(() => void showControls()), { once: true });
  setTimeout(() => void showControls(), CONTROLS_AFTER_MS);
};

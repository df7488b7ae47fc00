import Hls, { ErrorDetails, ErrorTypes, Events } from 'hls.js';
import { addControls } from './controls.js';
import { licenseConfig } from './key-systems.js';
import { messageFor, showMessage, UNPLAYABLE, UNSUPPORTED } from './message.js';
import { page, root } from './page-data.js';
import type { Settings } from './settings.js';

/**
 * Safari plays HLS itself, which AirPlay needs. Encrypted videos need the license requests of
 * hls.js.
 */
const playsNatively = (video: HTMLVideoElement): boolean =>
  page.keySystems === '' &&
  video.canPlayType('application/vnd.apple.mpegurl') !== '' &&
  ('webkitSupportsPresentationMode' in video || !Hls.isSupported());

const startHls = (video: HTMLVideoElement, startSeconds: number): Hls => {
  const hls = new Hls({
    // Segments are fragmented MP4, which leaves little to do: a worker only delays the first frame.
    enableWorker: false,
    startPosition: startSeconds || -1,
    // Catches up with a live stream after a stall, hardly audible.
    maxLiveSyncPlaybackRate: 1.2,
    ...licenseConfig(page),
  });
  let isRecovered = false;
  hls.on(Events.ERROR, (_, { fatal, type, details, response }) => {
    if (!fatal) return;
    // Only once: a decoder that fails again does not get better.
    if (type === ErrorTypes.MEDIA_ERROR && !isRecovered) {
      isRecovered = true;
      hls.recoverMediaError();
      return;
    }
    hls.destroy();
    const isUnsupported = details === ErrorDetails.KEY_SYSTEM_NO_ACCESS;
    showMessage(isUnsupported ? UNSUPPORTED : messageFor(response?.code));
  });
  hls.loadSource(page.source);
  hls.attachMedia(video);
  return hls;
};

const startNatively = (video: HTMLVideoElement, startSeconds: number): void => {
  video.addEventListener('error', () => showMessage(UNPLAYABLE));
  video.addEventListener('loadedmetadata', () => {
    if (startSeconds > 0) video.currentTime = startSeconds;
  });
  video.src = page.source;
};

/** Plays the video and adds the controls, which never touch where it comes from. */
export const play = (settings: Settings): void => {
  const video = root.querySelector('video')!;
  const isNative = playsNatively(video);
  if (!isNative && !Hls.isSupported()) {
    showMessage(UNSUPPORTED);
    return;
  }
  video.hidden = false;
  video.muted = settings.isMuted;
  video.loop = settings.isLooping;
  if (settings.showsPoster && page.poster !== '') video.poster = page.poster;
  const hls = isNative ? undefined : startHls(video, settings.startSeconds);
  if (isNative) startNatively(video, settings.startSeconds);
  addControls(video, hls);
  // Browsers may refuse autoplay; the viewer can then use the controls.
  if (settings.isAutoplaying) video.play().catch(() => undefined);
};

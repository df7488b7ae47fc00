import Hls, { ErrorDetails, ErrorTypes, Events } from 'hls.js';
import { addControls } from './controls.js';
import { keepLive } from './keep-live.js';
import { licenseConfig } from './key-systems.js';
import { LiveEdge } from './live-edge.js';
import { CATCH_UP_RATE } from './menus.js';
import { messageFor, showMessage, UNPLAYABLE, UNSUPPORTED } from './message.js';
import { page, root } from './page-data.js';
import { type ReportFailure, reportView } from './report-view.js';
import type { Settings } from './settings.js';

/**
 * Safari plays HLS itself, which AirPlay needs. Encrypted videos need the license requests of
 * hls.js.
 */
const playsNatively = (video: HTMLVideoElement): boolean =>
  page.keySystems === '' &&
  video.canPlayType('application/vnd.apple.mpegurl') !== '' &&
  ('webkitSupportsPresentationMode' in video || !Hls.isSupported());

/** A decoder that fails again sooner than this does not get better. */
const RECOVERY_MS = 60_000;

/** Playback that has come so close to the end of a broadcast has reached it. */
const END_SECONDS = 1;

/** The codes of `MediaError`, which other players report too. */
const codeOf = (type: ErrorTypes): number =>
  type === ErrorTypes.NETWORK_ERROR ? 2 : type === ErrorTypes.MEDIA_ERROR ? 3 : 4;

const startHls = (video: HTMLVideoElement, startSeconds: number, failed: ReportFailure): Hls => {
  const hls = new Hls({
    // Segments are fragmented MP4, which leaves little to do: a worker only delays the first frame.
    enableWorker: false,
    startPosition: startSeconds || -1,
    maxLiveSyncPlaybackRate: CATCH_UP_RATE,
    // The duration shows whether a stream is live.
    liveDurationInfinity: true,
    ...licenseConfig(page),
  });
  let recoveredMs = Number.NEGATIVE_INFINITY;
  const lost =
    page.live === ''
      ? undefined
      : keepLive(
          video,
          () => {
            if (hls.levels.length > 0) hls.startLoad();
            else hls.loadSource(page.source);
          },
          () => {
            const { live = true, edge = 0 } = hls.latestLevelDetails ?? {};
            return !live && video.currentTime > edge - END_SECONDS;
          },
        );
  hls.on(Events.ERROR, (_, { fatal, type, details, response }) => {
    if (!fatal) return;
    if (type === ErrorTypes.MEDIA_ERROR && performance.now() - recoveredMs > RECOVERY_MS) {
      recoveredMs = performance.now();
      hls.recoverMediaError();
      return;
    }
    if (lost && type === ErrorTypes.NETWORK_ERROR) return lost();
    hls.destroy();
    failed({ code: codeOf(type), message: response?.code ? `${details} ${response.code}` : details });
    const isUnsupported = details === ErrorDetails.KEY_SYSTEM_NO_ACCESS;
    showMessage(isUnsupported ? UNSUPPORTED : messageFor(response?.code));
  });
  hls.loadSource(page.source);
  hls.attachMedia(video);
  return hls;
};

const startNatively = (video: HTMLVideoElement, startSeconds: number, failed: ReportFailure): void => {
  const lost =
    page.live === ''
      ? undefined
      : keepLive(
          video,
          () => {
            video.load();
            video.play().catch(() => undefined);
          },
          () => false,
        );
  video.addEventListener('error', () => {
    if (lost && video.error?.code === MediaError.MEDIA_ERR_NETWORK) return lost();
    failed({ code: video.error?.code ?? 4, message: video.error?.message ?? '' });
    showMessage(UNPLAYABLE);
  });
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
  video.loop = settings.isLooping && page.live === '';
  if (settings.showsPoster && page.poster !== '') video.poster = page.poster;
  const failed: ReportFailure = (failure) => report(failure);
  const hls = isNative ? undefined : startHls(video, settings.startSeconds, failed);
  if (isNative) startNatively(video, settings.startSeconds, failed);
  const report = reportView(video, hls, settings);
  const edge = page.live === '' ? undefined : new LiveEdge(video, hls, settings.startSeconds === 0);
  addControls(video, hls, edge);
  // Browsers may refuse autoplay; the viewer can then use the controls.
  if (settings.isAutoplaying) video.play().catch(() => undefined);
};

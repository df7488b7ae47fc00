import type Hls from 'hls.js';
import type { Failure } from './monitor-view.js';
import { page } from './page-data.js';
import type { Settings } from './settings.js';

/** Says why playback has ended for good. */
export type ReportFailure = (failure: Failure) => void;

/** False if the viewer's browser, the page's URL or the server says no. */
const isReporting = ({ isTracking }: Settings): boolean =>
  isTracking &&
  page.environment !== '' &&
  navigator.doNotTrack !== '1' &&
  !(navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl;

/**
 * Reports how the video plays to this server, as other players with mux-embed do. What measures is
 * loaded beside the video, so the first frame does not wait for it.
 */
export const reportView = (video: HTMLVideoElement, hls: Hls | undefined, settings: Settings): ReportFailure => {
  if (!isReporting(settings)) return () => undefined;
  const times: { play?: number; playing?: number } = {};
  for (const event of ['play', 'playing'] as const)
    video.addEventListener(event, () => (times[event] ??= Date.now()), { once: true });
  const monitor = import('./monitor-view.js').then(
    ({ monitorView }) => monitorView({ video, hls, times, isAutoplaying: settings.isAutoplaying }),
    // The video plays on without.
    () => undefined,
  );
  return (failure) => void monitor.then((report) => report?.(failure));
};

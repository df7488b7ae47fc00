import Hls from 'hls.js';
import mux from 'mux-embed';
import { page } from './page-data.js';

export interface Failure {
  /** As in `MediaError`: 2 network, 3 decoding, 4 format. */
  readonly code: number;
  readonly message: string;
}

interface Monitored {
  readonly video: HTMLVideoElement;
  readonly hls: Hls | undefined;
  /** When playback was requested and began, if it was before this script ran. */
  readonly times: { readonly play?: number; readonly playing?: number };
  readonly isAutoplaying: boolean;
}

/**
 * mux-embed reports to `http:` only if the domain ends with `localhost`, else to `https:`. Browsers
 * do not send the fragment.
 */
const collectionDomain = (): string => {
  const host = page.dataHost || location.host;
  return location.protocol === 'https:' ? host : `${host}/#localhost`;
};

/** @returns what to call when playback has ended for good */
export const monitorView = ({ video, hls, times, isAutoplaying }: Monitored): ((failure: Failure) => void) => {
  let isCatchingUp = true;
  mux.monitor(video, {
    beaconCollectionDomain: collectionDomain(),
    disableCookies: true,
    respectDoNotTrack: true,
    ...(hls && { hlsjs: hls, Hls }),
    // The page recovers from many errors of hls.js and says which one is the end.
    automaticErrorTracking: false,
    errorTranslator: (error) => typeof error.player_error_code === 'number' && error,
    // The video may have started first.
    emitTranslator: (event, data) => {
      if (!isCatchingUp) return [event, data];
      const time = (event === 'playing' ? times.playing : times.play) ?? data.viewer_time;
      return [event, { ...data, viewer_time: time, ...(event === 'viewstart' && { view_start: time }) }];
    },
    stateDataTranslator: (state) => ({ ...state, player_autoplay_on: isAutoplaying }),
    data: {
      env_key: page.environment,
      // As Mux Player does. It tells the asset even if the report that names the source is lost.
      video_id: page.playbackId,
      video_title: page.title,
      video_stream_type: page.live === '' ? 'on-demand' : 'live',
      page_type: window.parent === window ? 'watchpage' : 'iframe',
      player_name: 'Kinora',
      ...(hls && { player_software_name: 'hls.js', player_software_version: Hls.version }),
    },
  });
  isCatchingUp = false;
  return ({ code, message }) => mux.emit(video, 'error', { player_error_code: code, player_error_message: message });
};

import Hls from 'hls.js';
import mux from 'mux-embed';
import { useEffect, useRef, useState } from 'react';

/**
 * Plays a playback ID with hls.js, or with the browser itself where that is not supported (iPhone).
 * With the ID of its environment, views are reported to Kinora.
 */
export function Player({ server, playbackId, token, environmentId }) {
  const video = useRef(null);
  const [problem, setProblem] = useState('');
  const query = token ? `?token=${token}` : '';
  const playlist = `${server}/${playbackId}.m3u8${query}`;

  useEffect(() => {
    setProblem('');
    const hls = Hls.isSupported() ? new Hls() : undefined;
    if (environmentId) {
      mux.monitor(video.current, {
        beaconCollectionDomain: new URL(server).host,
        disableCookies: true,
        respectDoNotTrack: true,
        hlsjs: hls,
        Hls,
        data: { env_key: environmentId },
      });
    }
    if (hls) {
      hls.on(Hls.Events.ERROR, (_, { fatal, details }) => fatal && setProblem(details));
      hls.loadSource(playlist);
      hls.attachMedia(video.current);
    } else video.current.src = playlist;
    const watched = video.current;
    return () => {
      watched.mux?.destroy();
      hls?.destroy();
    };
  }, [server, playlist, environmentId]);

  return (
    <figure>
      <video ref={video} controls muted playsInline poster={`${server}/${playbackId}/thumbnail.jpg${query}`} />
      {problem && <figcaption role="alert">The video cannot be played ({problem}).</figcaption>}
    </figure>
  );
}

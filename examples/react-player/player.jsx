import Hls from 'hls.js';
import { useEffect, useRef, useState } from 'react';

/** Plays a playback ID with hls.js, or with the browser itself where that is not supported (iPhone). */
export function Player({ server, playbackId, token }) {
  const video = useRef(null);
  const [problem, setProblem] = useState('');
  const query = token ? `?token=${token}` : '';
  const playlist = `${server}/${playbackId}.m3u8${query}`;

  useEffect(() => {
    setProblem('');
    if (!Hls.isSupported()) {
      video.current.src = playlist;
      return undefined;
    }
    const hls = new Hls();
    hls.on(Hls.Events.ERROR, (_, { fatal, details }) => fatal && setProblem(details));
    hls.loadSource(playlist);
    hls.attachMedia(video.current);
    return () => hls.destroy();
  }, [playlist]);

  return (
    <figure>
      <video ref={video} controls muted playsInline poster={`${server}/${playbackId}/thumbnail.jpg${query}`} />
      {problem && <figcaption role="alert">The video cannot be played ({problem}).</figcaption>}
    </figure>
  );
}

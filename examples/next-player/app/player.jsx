'use client';
import { useEffect } from 'react';

/** Views are reported to Kinora under the ID of the environment, without cookies. */
export function Player({ src, environmentId }) {
  // The player is an element of the browser; the server only sends its tag.
  useEffect(() => void import('@mux/mux-player'), []);
  return (
    <mux-player
      src={src}
      stream-type="on-demand"
      env-key={environmentId}
      beacon-collection-domain={new URL(src).host}
      disable-cookies
    />
  );
}

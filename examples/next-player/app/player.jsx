'use client';
import { useEffect } from 'react';

export function Player({ src }) {
  // The player is an element of the browser; the server only sends its tag.
  useEffect(() => void import('@mux/mux-player'), []);
  return <mux-player src={src} stream-type="on-demand" disable-tracking disable-cookies />;
}

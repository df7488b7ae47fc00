// Live streams of a server under measurement.
import { setTimeout as delay } from 'node:timers/promises';
import { startKinora } from '../support/kinora.mjs';
import { freePort } from '../support/live-encoder.mjs';

/** A server that receives live streams; `rtmpUrl` is its application. */
export const startLiveKinora = async ({ options = {}, again, ...rest } = {}) => {
  const rtmpPort = again?.rtmpPort ?? (await freePort());
  const server = await startKinora({ ...rest, again, options: { RTMP_PORT: String(rtmpPort), ...options } });
  return { ...server, rtmpPort, rtmpUrl: `rtmp://127.0.0.1:${rtmpPort}/app` };
};

const policies = { playback_policies: ['public'] };

/** A new live stream in the mode `low`. `url` is what its encoder sends to. */
export const createLiveStream = async (server, fields = {}) => {
  const body = { ...policies, new_asset_settings: policies, latency_mode: 'low', ...fields };
  const stream = await server.api('POST', '/live-streams', body);
  return { ...stream, url: `${server.rtmpUrl}/${stream.stream_key}`, playbackId: stream.playback_ids[0].id };
};

/** Waits for a condition; returns the time at which it was true, in milliseconds since 1970. */
export const untilMs = async (condition, everyMs = 10) => {
  for (;;) {
    const atMs = performance.timeOrigin + performance.now();
    if (await condition()) return atMs;
    await delay(everyMs);
  }
};

export const isActive = async (server, { id }) => (await server.api('GET', `/live-streams/${id}`)).status === 'active';

export const isPlayable = async (server, playbackId) =>
  (await fetch(new URL(`/${playbackId}.m3u8`, server.url))).status === 200;

/** What a playlist with parts is asked for next. */
export const nextPlace = (playlist) => {
  const first = Number(/^#EXT-X-MEDIA-SEQUENCE:(\d+)/m.exec(playlist)[1]);
  const segments = playlist.split('#EXTINF:');
  const parts = segments.at(-1).match(/^#EXT-X-PART:/gm)?.length ?? 0;
  return { segment: first + segments.length - 1, part: parts };
};

/** Plays a rendition as a player with low latency does, until `signal`: playlists and parts. */
export const follow = async (server, path, signal) => {
  const base = new URL(path, server.url);
  const get = async (url) => {
    const response = await fetch(url, { signal });
    if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
    return response;
  };
  const seen = new Set();
  let place;
  try {
    for (;;) {
      const query = place ? `?_HLS_msn=${place.segment}&_HLS_part=${place.part}` : '';
      const text = await (await get(new URL(query, base))).text();
      const parts = [...text.matchAll(/^#EXT-X-PART:.*URI="([^"]+)"/gm)].map(([, uri]) => uri);
      for (const uri of parts.slice(-3)) {
        if (seen.has(uri)) continue;
        seen.add(uri);
        await (await get(new URL(uri, base))).arrayBuffer();
      }
      place = nextPlace(text);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};

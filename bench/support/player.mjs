// A player that displays nothing: it keeps `BUFFER_SECONDS` ahead of its clock, which stops when
// there is nothing to play.
import { setTimeout as delay } from 'node:timers/promises';

/** The default of hls.js. */
const BUFFER_SECONDS = 30;

/** A cached segment arrives within this time. Producing one takes several times as long. */
export const CACHED_WITHIN_MS = 50;

/**
 * @returns {Promise<{waits: number[], stalls: number, stalledSeconds: number, startSeconds:
 * number}>} `waits`: ms per segment
 */
export const play = async (server, segments) => {
  const startedMs = performance.now();
  const waits = [];
  let playingSinceMs;
  let stalls = 0;
  let stalledMs = 0;
  let loadedMs = 0;
  for (const { path, seconds } of segments) {
    const aheadMs = playingSinceMs === undefined ? 0 : loadedMs - (performance.now() - playingSinceMs);
    if (aheadMs > BUFFER_SECONDS * 1000) await delay(aheadMs - BUFFER_SECONDS * 1000);
    const askedMs = performance.now();
    await server.get(path);
    const nowMs = performance.now();
    waits.push(nowMs - askedMs);
    playingSinceMs ??= nowMs;
    const lateMs = nowMs - playingSinceMs - loadedMs;
    if (lateMs > 0 && loadedMs > 0) {
      stalls += 1;
      stalledMs += lateMs;
      playingSinceMs += lateMs;
    }
    loadedMs += seconds * 1000;
  }
  const startSeconds = (playingSinceMs - startedMs) / 1000;
  return { waits, stalls, stalledSeconds: stalledMs / 1000, startSeconds };
};

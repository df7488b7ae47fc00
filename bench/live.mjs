import { measureLadder } from './live/ladder.mjs';
import { measureLatency } from './live/latency.mjs';
import { measureStartAndEnd } from './live/start-and-end.mjs';
import { measureStreams } from './live/streams.mjs';
import { measureViewers } from './live/viewers.mjs';

export const title = 'live streams: from the encoder to the screen, the start, the end, and what they cost';
export const needs = ['ffmpeg', 'chromium'];

const parts = {
  latency: measureLatency,
  'start-and-end': measureStartAndEnd,
  streams: measureStreams,
  ladder: measureLadder,
  viewers: measureViewers,
};

/** Use `LIVE_PARTS=latency,viewers npm run bench -- live` for some of them. */
export const run = async () => {
  for (const name of process.env.LIVE_PARTS?.split(',') ?? Object.keys(parts)) {
    if (!parts[name]) throw new Error(`LIVE_PARTS: ${name} is not one of ${Object.keys(parts).join(', ')}`);
    await parts[name]();
  }
};

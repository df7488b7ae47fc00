// How many viewers with low latency a server carries: their blocked requests for playlists.
import { spread, table } from '../support/figures.mjs';
import { startEncoder } from '../support/live-encoder.mjs';
import { watchWith } from '../support/live-viewers.mjs';
import { countedMovie } from '../support/media.mjs';
import { readMultivariant } from '../support/playlist.mjs';
import { ownCpuSecondsOf, residentMegabytesOf } from '../support/processes.mjs';
import { createLiveStream, isPlayable, startLiveKinora, untilMs } from './live-streams.mjs';

const COUNTS = [1, 100, 1000];
const SECONDS = 20;
const PART_MS = 1000 / 3;

export const measureViewers = async () => {
  const path = await countedMovie();
  const server = await startLiveKinora({ options: { LIVE_RUNGS: '0' } });
  const stream = await createLiveStream(server);
  const encoder = startEncoder(path, stream.url);
  const rows = [];
  try {
    await untilMs(() => isPlayable(server, stream.playbackId));
    const { videos } = await readMultivariant(server, stream.playbackId);
    const url = new URL(videos[0].path, server.url).href;
    for (const count of COUNTS) {
      const before = ownCpuSecondsOf(server.pid);
      const { responses, failed, spreadsMs } = await watchWith(url, { count, seconds: SECONDS });
      const cores = (ownCpuSecondsOf(server.pid) - before) / SECONDS;
      rows.push([
        count,
        (responses / SECONDS).toFixed(0),
        failed,
        spread(spreadsMs),
        spread(spreadsMs.map((ms) => ms / PART_MS)),
        (100 * cores).toFixed(0),
        residentMegabytesOf(server.pid).toFixed(0),
      ]);
    }
  } finally {
    await encoder.stop();
    await server.stop();
  }
  console.log(`\nViewers that each hold a request for the playlist of the next part, over ${SECONDS} s\n`);
  table([
    [
      'viewers',
      'playlists/s',
      'failed',
      'from the first to the last viewer, ms',
      'relative to a part',
      'CPU, % of a core',
      'memory, MB',
    ],
    ...rows,
  ]);
};

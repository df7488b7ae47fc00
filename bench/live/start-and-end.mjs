// How soon a live stream plays, how soon its recording does after its end, and what is lost when
// the server is killed.
import { setTimeout as delay } from 'node:timers/promises';
import { spread, table } from '../support/figures.mjs';
import { startEncoder } from '../support/live-encoder.mjs';
import { countedMovie } from '../support/media.mjs';
import { createLiveStream, isActive, isPlayable, startLiveKinora, untilMs } from './live-streams.mjs';

const REPETITIONS = 5;
const GOP_SECONDS = 2;
const PROBE_MS = 20;

/** Requests the recording of `playbackId` again and again, and counts what is not a playlist. */
const probe = (server, playbackId) => {
  let running = true;
  let requests = 0;
  let failed = 0;
  const ended = (async () => {
    for (; running; requests += 1) {
      if (!(await isPlayable(server, playbackId))) failed += 1;
      await delay(PROBE_MS);
    }
  })();
  return async () => {
    running = false;
    await ended;
    return { requests, failed };
  };
};

/** From the first frame to the planned asset. Times in seconds. */
const broadcast = async (server, path) => {
  const stream = await createLiveStream(server);
  const encoder = startEncoder(path, stream.url);
  try {
    const sentMs = await encoder.firstKeyFrame;
    const [activeMs, playableMs] = await Promise.all([
      untilMs(() => isActive(server, stream)),
      untilMs(() => isPlayable(server, stream.playbackId)),
    ]);
    const { active_asset_id: id } = await server.api('GET', `/live-streams/${stream.id}`);
    const retrieve = () => server.api('GET', `/assets/${id}`);
    const { playback_ids } = await retrieve();
    const stopProbe = probe(server, playback_ids[0].id);
    await delay(4000);
    const stoppedMs = performance.timeOrigin + performance.now();
    await encoder.stop();
    const plannedMs = await untilMs(async () => !(await retrieve()).is_live);
    await delay(1000);
    const { requests, failed } = await stopProbe();
    const seconds = (ms) => ms / 1000;
    return {
      active: seconds(activeMs - sentMs),
      playable: seconds(playableMs - sentMs),
      planned: seconds(plannedMs - stoppedMs),
      requests,
      failed,
    };
  } finally {
    await encoder.stop();
    await server.api('DELETE', `/live-streams/${stream.id}`);
  }
};

/** Seconds of video that the encoder sent before `kill -9`, and that are not in the asset. */
const lose = async (path, afterMs) => {
  const server = await startLiveKinora({ options: { LIVE_RUNGS: '0' } });
  const stream = await createLiveStream(server, { reconnect_window: 60 });
  const encoder = startEncoder(path, stream.url);
  await untilMs(() => isActive(server, stream));
  const { active_asset_id: id } = await server.api('GET', `/live-streams/${stream.id}`);
  await delay(afterMs);
  const sent = encoder.lastFrame() + 1;
  await server.kill();
  await encoder.stop();
  const again = await startLiveKinora({ again: server, options: { LIVE_RUNGS: '0' } });
  try {
    await again.api('PUT', `/live-streams/${stream.id}/complete`);
    const retrieve = () => again.api('GET', `/assets/${id}`);
    await untilMs(async () => !(await retrieve()).is_live);
    return sent / 30 - (await retrieve()).duration;
  } finally {
    await again.stop();
  }
};

export const measureStartAndEnd = async () => {
  const path = await countedMovie();
  const server = await startLiveKinora({ options: { LIVE_RUNGS: '0' } });
  const runs = [];
  try {
    for (let i = 0; i < REPETITIONS; i++) runs.push(await broadcast(server, path));
  } finally {
    await server.stop();
  }
  const lost = [];
  for (let i = 0; i < REPETITIONS; i++) lost.push(Math.max(0, await lose(path, 1000 + 230 * i)));
  const row = (label, values) => [label, spread(values), spread(values.map((value) => value / GOP_SECONDS))];
  const of = (field) => runs.map((result) => result[field]);
  console.log(`\nMode \`low\`, a key frame every ${GOP_SECONDS} s. Median (min to max) of ${REPETITIONS}\n`);
  table([
    ['', 'seconds', 'relative to the key frame interval'],
    row('from the first key frame to `active`', of('active')),
    row('from the first key frame to a playlist', of('playable')),
    row('from the end of the encoder to the planned asset', of('planned')),
    row('lost by kill -9', lost),
  ]);
  const sum = (field) => of(field).reduce((total, value) => total + value, 0);
  console.log(`\nRequests for the recording until then: ${sum('requests')}, of which ${sum('failed')} failed`);
};

import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { shortKey } from '../dist/audience/beacons/key-words.js';
import { median, percent, ratio, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { readMedia, readMultivariant } from './support/playlist.mjs';
import { ownCpuSecondsOf } from './support/processes.mjs';

export const title =
  '1,000 viewers whose players report, on the embedded database, compared with the same server while they report elsewhere';
export const needs = ['ffmpeg'];

const VIEWERS = 1000;
/** As mux-embed sends. */
const REPORT_MS = 10_000;
/** Use `BEACONS_SECONDS=60 npm run bench -- beacons` for longer measurements. */
const SECONDS = Number(process.env.BEACONS_SECONDS ?? 30);
const REPETITIONS = 3;
const REQUEST_EVERY_MS = 100;
/** Until everybody has started and Node.js has compiled what runs often. */
const WARM_UP_MS = 60_000;

const self = fileURLToPath(import.meta.url);

/** What a player tells at the start, and then every ten seconds. */
const fieldsOf = (viewer, sequence, { environmentId, playbackId }) => {
  const playedMs = sequence * REPORT_MS;
  const identity = {
    ...{ env_key: environmentId, view_id: `view-${viewer}`, view_sequence_number: sequence, mux_api_version: '2.1' },
    ...{ player_instance_id: `player-${viewer}`, player_sequence_number: sequence, viewer_time: Date.now() },
    ...{ player_playhead_time: playedMs, view_playing_time_ms_cumulative: playedMs, video_id: `video-${viewer % 50}` },
  };
  if (sequence > 0)
    return {
      ...identity,
      ...{ view_watch_time: playedMs, view_content_playback_time: playedMs, video_playback_range: `["0:${playedMs}"]` },
      ...{ view_max_playhead_position: playedMs, view_total_content_playback_time: playedMs },
    };
  return {
    ...identity,
    ...{ mux_embed: 'mux-embed', mux_embed_version: '5.18.2', player_name: 'Player', video_title: 'A film' },
    ...{
      page_url: 'https://www.example.org/watch/a-film',
      player_width: 1280,
      player_height: 720,
      view_start: Date.now(),
    },
    ...{ video_source_url: `https://stream.example.org/${playbackId}.m3u8`, video_source_duration: 5_400_000 },
    ...{ mux_viewer_id: `viewer-${viewer}`, session_id: `session-${viewer}`, view_time_to_first_frame: 400 + viewer },
    ...{ video_source_width: 1280, video_source_height: 720, player_autoplay_on: false, player_preload_on: true },
  };
};

const bodyOf = (viewer, sequence, names, target) => {
  const fields = fieldsOf(viewer, sequence, target);
  const event = Object.fromEntries(Object.entries(fields).map(([name, value]) => [shortKey(name), value]));
  return JSON.stringify({
    metadata: { transmission_timestamp: Date.now(), rtt_ms: 20 },
    events: names.map((name) => ({ ...event, e: name })),
  });
};

/** Takes reports instead of Kinora, so that the viewers need as much of the processor. */
const startElsewhere = () =>
  new Promise((resolve) => {
    const server = createServer((request, response) => request.resume().on('end', () => response.end()));
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`));
  });

/** Each viewer reports in turn, so that reports are spread over the ten seconds. */
const watch = async (target) => {
  let failed = 0;
  const url = target.url ?? (await startElsewhere());
  const send = async (viewer, sequence) => {
    // Mostly heartbeats; sometimes a viewer waits.
    const stalls = viewer % 10 === sequence % 10;
    const names = sequence === 0 ? ['viewstart', 'playing'] : stalls ? ['rebufferstart', 'rebufferend', 'hb'] : ['hb'];
    const headers = {
      'content-type': 'text/plain',
      'x-forwarded-for': `198.51.100.${viewer % 250}`,
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:125.0) Gecko/20100101 Firefox/125.0',
    };
    const body = bodyOf(viewer, sequence, names, target);
    const { ok } = await fetch(url, { method: 'POST', headers, body }).catch(() => ({ ok: false }));
    if (!ok) failed += 1;
  };
  const startedMs = performance.now();
  process.on('message', () => {
    process.send({ failed });
    process.exit(0);
  });
  for (let i = 0; ; i++) {
    await delay(startedMs + (i * REPORT_MS) / VIEWERS - performance.now());
    void send(i % VIEWERS, Math.floor(i / VIEWERS));
  }
};

if (process.argv[2] === 'watch') await watch(JSON.parse(process.argv[3]));

/** In a process of their own. */
const startViewers = (target) => {
  const child = fork(self, ['watch', JSON.stringify(target)]);
  return {
    stop: () =>
      new Promise((resolve) => {
        child.once('message', ({ failed }) => resolve(failed));
        child.send('stop');
      }),
  };
};

const measure = async (kinora, path) => {
  const cpu = ownCpuSecondsOf(kinora.pid);
  const startedMs = performance.now();
  const latencies = [];
  while (performance.now() < startedMs + SECONDS * 1000) {
    const requestedMs = performance.now();
    await kinora.get(path);
    latencies.push(performance.now() - requestedMs);
    await delay(REQUEST_EVERY_MS);
  }
  const seconds = (performance.now() - startedMs) / 1000;
  latencies.sort((a, b) => a - b);
  return {
    cpu: (ownCpuSecondsOf(kinora.pid) - cpu) / seconds,
    median: median(latencies),
    p95: latencies[Math.floor(latencies.length * 0.95)],
  };
};

export const run = async () => {
  const origin = await startOrigin(await movie(60));
  const kinora = await startKinora({ measured: true, options: { TRUSTED_PROXIES: '127.0.0.1,::1' } });
  try {
    const { playbackId } = await kinora.createAsset(origin.url);
    const { videos } = await readMultivariant(kinora, playbackId);
    const { segments } = await readMedia(kinora, videos[0]);
    const { path } = segments[0];
    await kinora.get(path);
    const response = await fetch(`${kinora.url}/system/v1/whoami`, {
      headers: { authorization: kinora.authorization },
    });
    const environmentId = (await response.json()).data.environment_id;
    const target = { url: kinora.url, environmentId, playbackId };
    const [alone, watched, live] = [[], [], []];
    let failed = 0;
    for (let i = 0; i < REPETITIONS; i++) {
      await kinora.idle();
      const others = startViewers({ ...target, url: undefined });
      await delay(WARM_UP_MS / 4);
      alone.push(await measure(kinora, path));
      failed += await others.stop();
      const viewers = startViewers(target);
      await delay(WARM_UP_MS);
      const before = await kinora.liveBytes();
      watched.push(await measure(kinora, path));
      const after = await kinora.liveBytes();
      live.push((after.main + after.threads - before.main - before.threads) / 1e6);
      failed += await viewers.stop();
    }
    const of = (results, field) => results.map((result) => result[field]);
    const added = watched.map(({ cpu }, i) => cpu - alone[i].cpu);
    console.log(
      `Median (min to max) of ${REPETITIONS} x ${SECONDS} s, alternating; ${VIEWERS / (REPORT_MS / 1000)} reports/s, ${failed} failed; the viewers share the cores\n`,
    );
    table([
      ['', 'reports to Kinora', 'elsewhere', 'ratio'],
      ['share of a core', spread(of(watched, 'cpu')), spread(of(alone, 'cpu')), ''],
      ['cached segment, median ms', ...pair('median', watched, alone)],
      ['cached segment, 95 % within ms', ...pair('p95', watched, alone)],
    ]);
    console.log(`\nCPU for the viewers: ${percent(median(added))} of a core (goal: below 10 %)`);
    console.log(`Live memory after the measurement, less before: ${spread(live)} MB`);
  } finally {
    await kinora.stop();
    origin.stop();
  }
};

const pair = (field, watched, alone) => {
  const [a, b] = [watched, alone].map((results) => results.map((result) => result[field]));
  return [spread(a), spread(b), ratio(a, b)];
};

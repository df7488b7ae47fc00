// What the loss and the update of servers mean for encoders and viewers of live streams, and what
// an edge adds to the latency.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startLiveCluster, startLoyalEncoder } from './live/cluster.mjs';
import { startBrowser, startSite, watch } from './live/latency.mjs';
import { createLiveStream, isPlayable, untilMs } from './live/live-streams.mjs';
import { ratio, spread, table } from './support/figures.mjs';
import { startEncoder } from './support/live-encoder.mjs';
import { watchWith } from './support/live-viewers.mjs';
import { countedMovie } from './support/media.mjs';
import { postgresPrograms } from './support/postgres.mjs';

export const title = 'live streams on three servers and an edge: losses, updates, latency';
export const needs = ['ffmpeg', 'chromium'];

const VIEWERS = { nginx: 150, edge: 50 };
const SECONDS = 20;
/** From the loss on: the lease of the server, the encoder, the first segments. */
const TAKEOVER_SECONDS = 45;
const STREAMS = 20;
/** Each server drains for five seconds, and starts again. */
const UPDATE_SECONDS = 75;
const REPETITIONS = 3;

const playlistOf = (base, playbackId) => `${base}/${playbackId}/live/720p/playlist.m3u8`;

/** 200 viewers while `act` happens 5 s after their start. */
const watchThrough = async ({ url, edge }, playbackId, seconds, act) => {
  const watched = [
    watchWith(playlistOf(url, playbackId), { count: VIEWERS.nginx, seconds }),
    watchWith(playlistOf(edge.url, playbackId), { count: VIEWERS.edge, seconds }),
  ];
  await delay(5000);
  await act();
  const [direct, atEdge] = await Promise.all(watched);
  return { direct, atEdge };
};

const row = (what, { direct, atEdge }) => [
  what,
  direct.responses + atEdge.responses,
  `${direct.failed} / ${atEdge.failed}`,
  `${(direct.longestMs / 1000).toFixed(1)} / ${(atEdge.longestMs / 1000).toFixed(1)}`,
  `${direct.gaps} / ${atEdge.gaps}`,
];

const measureLosses = async (path) => {
  const cluster = await startLiveCluster();
  const { nodes } = cluster;
  let [own] = nodes;
  // Its encoder finds the next server when its own is lost.
  const stream = await createLiveStream(own, { reconnect_window: 120 });
  const encoder = startLoyalEncoder(path, () => `${own.rtmpUrl}/${stream.stream_key}`);
  try {
    await untilMs(() => isPlayable(own, stream.playbackId));
    const without = await watchThrough(cluster, stream.playbackId, SECONDS, () => nodes[2].kill());
    const killed = await watchThrough(cluster, stream.playbackId, TAKEOVER_SECONDS, async () => {
      [, own] = nodes;
      await nodes[0].kill();
    });
    const { recent_asset_ids: assets } = await own.api('GET', `/live-streams/${stream.id}`);
    console.log(`${VIEWERS.nginx} viewers at nginx in front of three servers / ${VIEWERS.edge} at an edge\n`);
    table([
      ['a server is killed', 'playlists', 'failed', 'longest wait for a playlist, s', 'gaps per viewer, at most'],
      row('that has no live stream', without),
      row('that has it', killed),
    ]);
    console.log(`\nAssets of the broadcast: ${assets.length}; the encoder connected ${encoder.connections()} times`);
  } finally {
    await encoder.stop();
    await cluster.stop();
  }
};

const measureUpdate = async (path) => {
  const cluster = await startLiveCluster();
  const { nodes, url, rtmpUrl } = cluster;
  const streams = [];
  const encoders = [];
  try {
    for (let at = 0; at < STREAMS; at++) {
      const stream = await createLiveStream(nodes[0], { reconnect_window: 120 });
      streams.push(stream);
      encoders.push(startLoyalEncoder(path, () => `${rtmpUrl}/${stream.stream_key}`));
    }
    for (const { playbackId } of streams) await untilMs(() => isPlayable({ url }, playbackId), 100);
    const urls = streams.map(({ playbackId }) => playlistOf(url, playbackId));
    const watching = watchWith(urls, { count: STREAMS, seconds: UPDATE_SECONDS });
    const restarting = (async () => {
      for (let at = 0; at < nodes.length; at++) {
        await delay(5000);
        await cluster.restart(at);
      }
    })();
    const [{ responses, failed, failures, longestMs }] = await Promise.all([watching, restarting]);
    const assets = await Promise.all(
      streams.map(async ({ id }) => (await nodes[0].api('GET', `/live-streams/${id}`)).recent_asset_ids.length),
    );
    console.log(`\n${STREAMS} streams, a viewer each, while three servers are restarted one after the other\n`);
    table([
      ['playlists', 'failed', 'longest wait, s', 'assets', 'connections of encoders'],
      [
        responses,
        failed,
        (longestMs / 1000).toFixed(1),
        assets.reduce((total, count) => total + count, 0),
        encoders.reduce((total, encoder) => total + encoder.connections(), 0),
      ],
    ]);
    if (failed > 0) console.log(`\nFailures: ${JSON.stringify(failures)}`);
  } finally {
    await Promise.all(encoders.map((encoder) => encoder.stop()));
    await cluster.stop();
  }
};

const measureEdge = async (path) => {
  const cluster = await startLiveCluster();
  const files = await mkdtemp(join(tmpdir(), 'kinora-bench-hls-'));
  const site = await startSite(files);
  const browser = await startBrowser();
  const [server] = cluster.nodes;
  const results = { direct: [], edge: [] };
  try {
    for (let i = 0; i < REPETITIONS; i++)
      for (const name of ['direct', 'edge']) {
        const stream = await createLiveStream(server);
        const encoder = startEncoder(path, stream.url);
        try {
          await untilMs(() => isPlayable(server, stream.playbackId));
          const base = name === 'edge' ? cluster.edge.url : server.url;
          results[name].push(await watch(browser, site, `${base}/${stream.playbackId}.m3u8`, encoder));
        } finally {
          await encoder.stop();
        }
      }
  } finally {
    await browser.close();
    site.stop();
    await cluster.stop();
    await rm(files, { recursive: true, force: true });
  }
  const of = (name, field) => results[name].map((result) => result[field]);
  const [direct, edge] = [of('direct', 'seconds'), of('edge', 'seconds')];
  console.log(`\nFrom the encoder to the screen of hls.js. Median (min to max) of ${REPETITIONS}, in turn\n`);
  table([
    ['', 'direct', 'through the edge', 'difference, s', 'ratio'],
    ['seconds', spread(direct), spread(edge), spread(edge.map((value, i) => value - direct[i])), ratio(edge, direct)],
    ['stalls', of('direct', 'stalls').join(', '), of('edge', 'stalls').join(', '), '', ''],
  ]);
};

const parts = { losses: measureLosses, update: measureUpdate, edge: measureEdge };

/** Use `LIVE_CLUSTER_PARTS=losses npm run bench -- live-cluster` for some of them. */
export const run = async () => {
  if (!postgresPrograms()) throw new Error('PostgreSQL is not installed');
  const path = await countedMovie();
  for (const name of process.env.LIVE_CLUSTER_PARTS?.split(',') ?? Object.keys(parts)) {
    if (!parts[name]) throw new Error(`LIVE_CLUSTER_PARTS: ${name} is not one of ${Object.keys(parts).join(', ')}`);
    await parts[name](path);
  }
};

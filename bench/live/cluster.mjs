// Three servers on one PostgreSQL and one store, behind nginx for viewers and a balancer for
// encoders, and an edge.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startKinora } from '../support/kinora.mjs';
import { freePort, startEncoder } from '../support/live-encoder.mjs';
import { startNginx } from '../support/nginx.mjs';
import { startPostgres } from '../support/postgres.mjs';
import { startStore } from '../support/s3.mjs';
import { startLiveKinora } from './live-streams.mjs';

const NODES = 3;
const STORE_LATENCY_MS = 10;
const EDGE_SECRET = 'the-same-on-the-edge-and-its-origin';

/** Passes connections to `ports` in turn; to the next one if one is closed. */
const startBalancer = async (ports) => {
  let turn = 0;
  const pass = (socket, left) => {
    const upstream = connect(ports[turn++ % ports.length], '127.0.0.1');
    upstream.once('connect', () => {
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on('error', () => (upstream.bytesRead === 0 && left > 0 ? pass(socket, left - 1) : socket.destroy()));
    upstream.on('close', () => upstream.bytesRead > 0 && socket.destroy());
    socket.on('close', () => upstream.destroy());
  };
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    pass(socket, 2 * NODES);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: server.address().port, stop: () => server.close() };
};

export const startLiveCluster = async () => {
  const [store, postgres] = await Promise.all([startStore({ latencyMs: STORE_LATENCY_MS }), startPostgres()]);
  const options = { ...store.options, DATABASE_URL: postgres.url, LIVE_RUNGS: '0', MEDIA_PROCESSES: '1', EDGE_SECRET };
  const ports = await Promise.all(Array.from({ length: NODES }, freePort));
  const nodes = [];
  for (const port of ports) {
    const again = nodes[0] && { token: nodes[0].token };
    nodes.push(await startLiveKinora({ options: { ...options, PORT: String(port) }, again }));
  }
  const root = await mkdtemp(join(tmpdir(), 'kinora-bench-nginx-'));
  const servers = ports.map((port) => `server 127.0.0.1:${port} max_fails=0;`).join(' ');
  const viewers = await startNginx(
    root,
    'location / { proxy_pass http://kinora; proxy_http_version 1.1; proxy_set_header Connection ""; }',
    { http: `upstream kinora { ${servers} keepalive 64; }`, connections: 4096 },
  );
  const encoders = await startBalancer(nodes.map(({ rtmpPort }) => rtmpPort));
  const { url } = viewers;
  const edge = await startKinora({ options: { ROLES: 'edge', EDGE_ORIGIN: url, EDGE_SECRET } });
  /** Stops a server and starts it again on its data, as an update does. */
  const restart = async (at) => {
    await nodes[at].end();
    nodes[at] = await startLiveKinora({ options: { ...options, PORT: String(ports[at]) }, again: nodes[at] });
  };
  const stop = async () => {
    await edge.stop();
    await Promise.allSettled(nodes.map((node) => node.stop()));
    await viewers.stop();
    encoders.stop();
    await rm(root, { recursive: true, force: true });
    await postgres.stop();
    store.stop();
  };
  return { nodes, edge, url, rtmpUrl: `rtmp://127.0.0.1:${encoders.port}/app`, restart, stop };
};

/** An encoder that connects again until it is stopped, as OBS does. */
export const startLoyalEncoder = (path, urlOf) => {
  let isStopped = false;
  let current;
  let connections = 0;
  const running = (async () => {
    while (!isStopped) {
      current = startEncoder(path, urlOf());
      connections += 1;
      await current.ended;
      if (!isStopped) await delay(1000);
    }
  })();
  return {
    connections: () => connections,
    stop: async () => {
      isStopped = true;
      await current.stop();
      await running;
    },
  };
};

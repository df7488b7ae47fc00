import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newSecret, newUuid } from '#kinora/lib/ids.js';
import { freePort } from './free-port.js';
import { keepRunning } from './keep-running.js';
import { startNginx } from './nginx.js';
import { startPostgres } from './postgres.js';
import { makeBucket } from './s3-bucket.js';
import { startServer, until } from './server-process.js';
import { startSwift, swiftCredentials } from './swift.js';

export interface Cluster {
  /** nginx: balancer and cache. */
  readonly url: string;
  /** `id:secret` */
  readonly token: string;
  readonly nodes: readonly { readonly url: string; readonly pid: number; readonly metricsUrl: string }[];
  /** Ends everything and removes its files. */
  stop(): Promise<void>;
}

const NODES = 3;
const BUCKET = 'cluster';

/**
 * Starts three servers on one PostgreSQL and one Swift, with nginx in front of them, all on ports
 * of this machine. What was started before a failure is stopped.
 */
export const startCluster = async (): Promise<Cluster> => {
  const dir = await mkdtemp(join(tmpdir(), 'kinora-cluster-'));
  const ends: (() => Promise<unknown>)[] = [() => rm(dir, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    const failed: unknown[] = [];
    for (const end of ends.splice(0).reverse()) await end().catch((error: unknown) => failed.push(error));
    if (failed.length > 0) throw failed[0];
  };
  try {
    const swift = await startSwift();
    ends.push(() => swift.close());
    const postgres = await startPostgres();
    ends.push(() => postgres.stop());
    await makeBucket(swift.settings(BUCKET));
    const token = `${newUuid()}:${newSecret()}`;
    const port = await freePort();
    const options = {
      TOKEN: token,
      DATABASE_URL: await postgres.createDatabase('kinora'),
      BLOBS: `s3://${BUCKET}/kinora`,
      S3_ENDPOINT: swift.url,
      S3_ACCESS_KEY_ID: swiftCredentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: swiftCredentials.secretAccessKey,
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      TRUSTED_PROXIES: '127.0.0.1/32',
      DRAIN: '2s',
    };
    const ports = await Promise.all(Array.from({ length: NODES }, async () => [await freePort(), await freePort()]));
    const starting = ports.map(async ([own, metrics], at) => {
      const urls = { url: `http://127.0.0.1:${own}`, metricsUrl: `http://127.0.0.1:${metrics}/metrics` };
      const dataDir = join(dir, `node-${at}`);
      const places = { PORT: String(own), METRICS_PORT: String(metrics) };
      const start = () => startServer({ dataDir, options: { ...options, ...places } });
      const server = await keepRunning(`The server at ${urls.url}`, start);
      const node = {
        ...urls,
        get pid() {
          return server.current.process.pid!;
        },
      };
      return { node, stop: server.stop };
    });
    ends.push(async () => {
      const started = await Promise.allSettled(starting);
      await Promise.all(started.map((each) => each.status === 'fulfilled' && each.value.stop()));
    });
    const nodes = (await Promise.all(starting)).map(({ node }) => node);
    // Until then, two servers can take themselves for the owner of a segment.
    const seenBy = async ({ metricsUrl }: { readonly metricsUrl: string }) =>
      /^kinora_nodes (\d+)$/m.exec(await (await fetch(metricsUrl)).text())?.[1];
    for (const node of nodes) await until('a server sees all others', async () => (await seenBy(node)) === `${NODES}`);
    const nginx = await startNginx(
      port,
      nodes.map(({ url }) => url),
    );
    ends.push(() => nginx.stop());
    return { url: nginx.url, token, nodes, stop };
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
};

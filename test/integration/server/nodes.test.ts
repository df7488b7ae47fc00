import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#kinora/lib/clock.js';
import { GENERATION } from '#kinora/media/plan/generation.js';
import { rendezvous } from '#kinora/nodes/rendezvous.js';
import { fixture } from '../../support/media/fixtures.js';
import { fetchBytes, mediaPlaylists, playAll, segmentsOf } from '../../support/players/play.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { copyBuild } from '../../support/servers/other-build.js';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/servers/postgres.js';
import { makeBucket } from '../../support/servers/s3-bucket.js';
import {
  cleanUpServers,
  filesBelow,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { startSlowOrigin } from '../../support/servers/slow-origin.js';
import { type Swift, startSwift, swiftCredentials, swiftPath } from '../../support/servers/swift.js';
import { type Receiver, startReceiver } from '../../support/servers/webhook-receiver.js';
import { api, createAsset, getAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';

interface Node extends ServerProcess {
  readonly dataDir: string;
  readonly metricsUrl: string;
}

describe.runIf(swiftPath !== undefined && hasPostgres())('several servers on one database and one bucket', () => {
  let swift: Swift;
  let postgres: TestPostgres;
  let origin: Origin;
  let shared: Record<string, string>;
  let nodes: Node[];
  const assets: WireAsset[] = [];

  const start = async (options: Record<string, string> = {}, program?: string): Promise<Node> => {
    const dataDir = makeDataDir();
    const server = await startServer({ dataDir, options: { ...shared, ...options }, ...(program && { program }) });
    const started = () => server.log().find(({ msg }) => msg === 'server started');
    await until('it has started', started);
    return { ...server, dataDir, metricsUrl: String(started()!.metrics_url) };
  };
  /** In this process, which costs less than one of its own. */
  const bootNode = (options: Record<string, string>): Promise<Booted> =>
    boot({ dataDir: makeDataDir(), token: nodes[0]!.token, options });
  beforeAll(async () => {
    [swift, postgres] = await Promise.all([startSwift(), startPostgres()]);
    await makeBucket(swift.settings('nodes'));
    // Rotated, so that its segments have to be encoded, and longer than the segments that one
    // server makes in a row.
    origin = await serveFiles([await fixture('longer.mp4')]);
    shared = {
      DATABASE_URL: await postgres.createDatabase('nodes'),
      BLOBS: 's3://nodes/kinora',
      S3_ENDPOINT: swift.url,
      S3_ACCESS_KEY_ID: swiftCredentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: swiftCredentials.secretAccessKey,
      METRICS_PORT: '0',
      MEDIA_PROCESSES: '1',
      DRAIN: '1s',
      // It would change playlists, and servers would read the asset again.
      AV1_AFTER: 'never',
    };
    // At the same time, on an empty database: only one of them sets it up.
    nodes = await Promise.all([start(), start(), start()]);
  });
  afterAll(async () => {
    await cleanUpServers();
    await origin?.stop();
    await postgres?.stop();
    await swift?.close();
  });

  const idOfNode = (node: Node) => node.log().find(({ msg }) => msg === 'server joined')!.node;
  const idOf = (asset: WireAsset): string => asset.playback_ids![0]!.id;
  const create = async (on: Node): Promise<WireAsset> => {
    const created = await createAsset(on, { inputs: [{ url: `${origin.url}/0` }], playback_policies: ['public'] });
    return settled(on, created.id);
  };
  const metric = async (node: Pick<Booted, 'metricsUrl'>, name: string): Promise<number> => {
    const text = await (await fetch(node.metricsUrl!)).text();
    const lines = text.split('\n').filter((line) => line.startsWith(name));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };
  const sumOf = async (name: string): Promise<number> =>
    (await Promise.all(nodes.map((node) => metric(node, name)))).reduce((sum, value) => sum + value, 0);
  const ENCODES = 'kinora_media_real_time_factor_count{kind="encode"}';
  const knowsOthers = (node: Pick<Booted, 'metricsUrl'>, count: number) =>
    until('the servers know each other', async () => (await metric(node, 'kinora_nodes')) === count);

  test('each segment is made once, whichever servers are asked for it', async () => {
    await Promise.all(nodes.map((node) => knowsOthers(node, 3)));
    for (const node of nodes) assets.push(await create(node));
    expect(assets.map(({ status }) => status)).toEqual(assets.map(() => 'ready'));
    let segments = 0;
    for (const asset of assets) {
      const played = await Promise.all(nodes.map((node) => playAll(node.url, idOf(asset))));
      expect(played[1]).toEqual(played[0]);
      expect(played[2]).toEqual(played[0]);
      segments += Object.keys(played[0]!).filter((path) => /\/\d+p\/\d+\.m4s$/.test(path)).length;
    }
    expect(segments).toBeGreaterThan(assets.length * 4);
    // On a busy machine an answer may come too late; the segment is made again then.
    const late = await sumOf('kinora_node_requests_total{outcome="failed"}');
    expect(late).toBeLessThan(segments / 10);
    const encoded = await sumOf(ENCODES);
    expect(encoded).toBeGreaterThanOrEqual(segments);
    expect(encoded - segments).toBeLessThanOrEqual(late);
    expect(await sumOf('kinora_node_requests_total{outcome="sent"}')).toBeGreaterThan(segments);
  });

  test('a request without a valid signature is answered like an unknown path', async () => {
    const url = `${nodes[0]!.url}/internal/segment`;
    const headers = { 'content-type': 'application/vnd.kinora.message' };
    for (const signature of [undefined, `${Math.floor(Date.now() / 1000)}.${randomBytes(32).toString('hex')}`]) {
      const response = await fetch(url, {
        method: 'POST',
        body: JSON.stringify({ asset: { id: assets[0]!.id }, rendition: 'audio', file: '0.m4s' }),
        headers: { ...headers, ...(signature && { 'x-kinora-signature': signature }) },
      });
      expect(response.status).toBe(404);
    }
  });

  test('what all servers deliver counts for one budget, which all obey', async () => {
    const asset = await create(nodes[0]!);
    const multivariant = (node: Node) => `${node.url}/${idOf(asset)}.m3u8`;
    const statuses = () => Promise.all(nodes.map(async (node) => (await fetch(multivariant(node))).status));
    const budgets = '/video/v1/delivery-budgets';
    const read = async (path: string) => (await (await api(nodes[2]!, 'GET', path)).json()).data;
    const rule = { asset_id: asset.id, period: 'month', bytes: 1e12 };
    const counted = await (await api(nodes[0]!, 'POST', budgets, rule)).json();
    const sizes = await Promise.all(
      nodes.map(async (node) => {
        const [playlist] = await mediaPlaylists(node.url, idOf(asset));
        return (await (await fetch((await segmentsOf(playlist!)).at(-1)!)).arrayBuffer()).byteLength;
      }),
    );
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const path = `${budgets}/${counted.data.id}`;
    await until('all are counted', async () => (await read(path)).delivered_bytes >= total);
    expect((await read(path)).delivered_bytes).toBe(total);

    await api(nodes[1]!, 'PATCH', path, { bytes: 1, action: 'stop' });
    await until('all stop', async () => (await statuses()).every((status) => status === 403));
    // Servers stop before the events are recorded.
    const types = async (): Promise<string[]> =>
      (await read(`/system/v1/events?object_id=${counted.data.id}`)).map(({ type }: { type: string }) => type).sort();
    const expected = ['spent', 'warning'].map((name) => `video.delivery_budget.${name}`);
    await until('both events are recorded', async () => (await types()).length >= expected.length);
    expect(await types()).toEqual(expected);
    await api(nodes[0]!, 'DELETE', path);
    await until('all go on', async () => (await statuses()).every((status) => status === 200));

    const rules = { referrer: { allowed_domains: ['example.com'] } };
    const { data } = await (await api(nodes[0]!, 'POST', '/video/v1/playback-restrictions', rules)).json();
    const restrict = (id: string | null) =>
      api(nodes[1]!, 'PUT', '/video/v1/public-playback-restriction', { playback_restriction_id: id });
    await restrict(data.id);
    await until('all restrict', async () => (await statuses()).every((status) => status === 403));
    await restrict(null);
    await until('nobody restricts', async () => (await statuses()).every((status) => status === 200));
  });

  test('a server whose clock is five minutes fast plays the same, and the others say so', async () => {
    const clock = { ...systemClock, now: () => new Date(Date.now() + 300_000) };
    const skewed = await boot({ options: shared, clock });
    // Of all assets and both windows of each, so that the others own some of the segments.
    const endsOf = async (url: string, asset: WireAsset) => {
      const files = await Promise.all((await mediaPlaylists(url, idOf(asset))).map(segmentsOf));
      return Promise.all(files.flatMap((urls) => [urls[0]!, urls[1]!, urls.at(-1)!]).map(fetchBytes));
    };
    for (const asset of assets) expect(await endsOf(skewed.url, asset)).toEqual(await endsOf(nodes[0]!.url, asset));
    const isTold = (node: Node) => node.log().some(({ msg }) => String(msg).includes('clocks differ'));
    await until('the others say so', () => nodes.some(isTold));
    await skewed.stop();
    await Promise.all(nodes.map((node) => knowsOthers(node, 3)));
  });

  test('while a release that makes other segments is rolled out, both kinds of URLs play at every server', async () => {
    const next = copyBuild();
    next.edit('media/plan/generation.js', `GENERATION = ${GENERATION}`, `GENERATION = ${GENERATION + 1}`);
    const newer = await start({}, next.program);
    const asset = assets[0]!;
    await Promise.all([...nodes, newer].map((node) => knowsOthers(node, 4)));
    const pathsOf = async (node: Node): Promise<string[]> => {
      const playlists = await mediaPlaylists(node.url, idOf(asset));
      // Some of each window.
      const files = (await Promise.all(playlists.map(segmentsOf))).flatMap((all) => [
        ...all.slice(0, 3),
        ...all.slice(-2),
      ]);
      const urls = [...playlists, ...files];
      return urls.map((url) => new URL(url).pathname);
    };
    const of = async (node: Node, path: string): Promise<[number, string]> => {
      const response = await fetch(node.url + path);
      return [
        response.status,
        createHash('sha256')
          .update(Buffer.from(await response.arrayBuffer()))
          .digest('hex'),
      ];
    };
    for (const [from, at] of [
      [nodes[0]!, newer],
      [newer, nodes[0]!],
    ] as const) {
      const paths = await pathsOf(from);
      expect(paths.length).toBeGreaterThan(10);
      for (const path of paths) {
        const own = await of(from, path);
        expect([path, ...own]).toEqual([path, 200, own[1]]);
        expect([path, ...(await of(at, path))]).toEqual([path, ...own]);
      }
    }
    // No server asks one of the other release for its own segments.
    expect(await sumOf('kinora_node_requests_total{outcome="refused"}')).toBe(0);
    expect(await metric(newer, 'kinora_node_requests_total')).toBe(0);
    const [path] = await pathsOf(newer);
    expect(await newer.stop()).toBe(0);
    await Promise.all(nodes.map((node) => knowsOthers(node, 3)));
    expect((await of(nodes[0]!, path!))[0]).toBe(404);
    next.remove();
  });

  /** Its events, each delivered once. */
  const announced = async (receiver: Receiver, id: string): Promise<string[]> => {
    const events = () => receiver.received.map(({ event }) => event).filter(({ object }) => object.id === id);
    await until('the asset is announced', () => events().some(({ type }) => type === 'video.asset.ready'), 240_000);
    expect(new Set(events().map((event) => event.id)).size).toBe(events().length);
    return events().map(({ type }) => type);
  };

  test('every event is delivered once, also when PostgreSQL was restarted, and what is known plays on meanwhile', async () => {
    const receiver = await startReceiver();
    const response = await api(nodes[0]!, 'POST', '/system/v1/webhooks', { address: receiver.url });
    expect(response.status).toBe(201);
    await announced(receiver, (await create(nodes[1]!)).id);

    const id = idOf(assets[0]!);
    const before = await playAll(nodes[0]!.url, id);
    await postgres.halt();
    for (const node of nodes) expect(await playAll(node.url, id)).toEqual(before);
    expect((await api(nodes[0]!, 'GET', '/video/v1/assets')).status).toBe(503);
    await postgres.resume();
    for (const node of nodes)
      await until('it answers again', async () => (await api(node, 'GET', '/video/v1/assets')).status === 200);
    await Promise.all(nodes.map((node) => knowsOthers(node, 3)));
    await announced(receiver, (await create(nodes[2]!)).id);
    await receiver.stop();
  });

  test('what a server has cached of an asset that another one deletes is removed', async () => {
    const asset = await create(nodes[0]!);
    for (const node of nodes) await playAll(node.url, idOf(asset));
    const cached = (node: Node) => filesBelow(join(node.dataDir, 'cache')).filter((path) => path.includes(asset.id));
    expect(nodes.every((node) => cached(node).length > 0)).toBe(true);
    expect((await api(nodes[0]!, 'DELETE', `/video/v1/assets/${asset.id}`)).status).toBe(204);
    await until('all copies are gone', () => nodes.every((node) => cached(node).length === 0));
    for (const node of nodes)
      await until('no server plays it', async () => (await fetch(`${node.url}/${idOf(asset)}.m3u8`)).status === 404);
  });

  test('a server with another bucket, or with files on its disk, does not start', async () => {
    await makeBucket(swift.settings('another'));
    await expect(bootNode({ ...shared, BLOBS: 's3://another/kinora' })).rejects.toThrow(
      /The blobs of this database are in s3:\/\/nodes\/kinora/,
    );
    const { DATABASE_URL } = shared;
    await expect(bootNode({ DATABASE_URL: DATABASE_URL! })).rejects.toThrow(/Servers share a database only if/);
  });

  test('a server that does only a part answers nothing else, and takes no segments of others', async () => {
    const node = await bootNode({ ...shared, ROLES: 'api', RATE_LIMIT_OTHER: '1:8' });
    expect((await api(node, 'GET', '/video/v1/assets')).status).toBe(200);
    // A part of the limit: others answer the API as well.
    await knowsOthers(node, nodes.length + 1);
    const statuses: number[] = [];
    for (let asked = 0; asked < 7; asked += 1) statuses.push((await api(node, 'GET', '/video/v1/assets')).status);
    expect(statuses).toContain(429);
    expect((await fetch(`${node.url}/${idOf(assets[0]!)}.m3u8`)).status).toBe(404);
    await node.stop();
    const jobs = await bootNode({ ...shared, ROLES: 'jobs' });
    expect((await api(jobs, 'GET', '/video/v1/assets')).status).toBe(404);
    expect((await fetch(`${jobs.url}/readyz`)).status).toBe(200);
    await jobs.stop();
  });

  test('an asset plays early at every server; when the one that imports is killed, another one finishes', async () => {
    const receiver = await startReceiver();
    await api(nodes[0]!, 'POST', '/system/v1/webhooks', { address: receiver.url });
    const slow = await startSlowOrigin();
    const bytes = await readFile(await fixture('long-index-first.mp4'));
    const url = slow.add('early.mp4', bytes, Math.floor(bytes.length / 2), { sendsParts: true });
    const created = await createAsset(nodes[0]!, { inputs: [{ url }], playback_policies: ['public'] });
    const { id } = created;
    const importer = () =>
      nodes.findIndex((node) => node.log().some((line) => line.asset_id === id && line.msg === 'ingest started'));
    await until('the import has begun', () => importer() >= 0);
    const killed = importer();
    for (const node of nodes) {
      const plays = async () => (await fetch(`${node.url}/${idOf(created)}.m3u8`)).status === 200;
      await until('it plays early', plays);
    }
    const heard = await Promise.all(
      nodes.map(async (node) => {
        const [first] = await mediaPlaylists(node.url, idOf(created));
        const image = await fetchBytes(`${node.url}/${idOf(created)}/thumbnail.png?time=3`);
        return [await fetchBytes((await segmentsOf(first!))[2]!), image];
      }),
    );
    expect(heard[1]).toEqual(heard[0]);
    expect(heard[2]).toEqual(heard[0]);
    expect((await getAsset(nodes[0]!, id)).status).toBe('preparing');
    await nodes[killed]!.kill();
    slow.release();
    const other = nodes[(killed + 1) % nodes.length]!;
    // The lease of the killed server has to end first. Waiting for the event sends no requests.
    await announced(receiver, id);
    const asset = await getAsset(other, id);
    expect(asset.status).toBe('ready');
    expect(Object.keys(await playAll(other.url, idOf(asset))).length).toBeGreaterThan(10);
    const types = await announced(receiver, id);
    expect(types.filter((type) => type === 'video.asset.ready')).toHaveLength(1);
    nodes[killed] = await start();
    await Promise.all(nodes.map((node) => knowsOthers(node, 3)));
    await receiver.stop();
    await slow.stop();
  });

  const digests = (played: Record<string, string>) => createHash('sha256').update(JSON.stringify(played)).digest('hex');

  test('when servers are killed or suspended, the others make their segments', async () => {
    const [first, second] = nodes.map((node) => ({ id: String(idOfNode(node)) }));
    let asset: WireAsset;
    // Its second window is one that the first server asks the second one for.
    do asset = await create(nodes[0]!);
    while (rendezvous([first!, second!], `${asset.id} 1`)[0] !== second);
    const expected = digests(await playAll(nodes[0]!.url, idOf(assets[0]!)));
    const playing = playAll(nodes[0]!.url, idOf(asset));
    nodes[1]!.signal('SIGSTOP');
    await nodes[2]!.kill();
    const played = await playing;
    const failures = nodes[0]!.log().filter(({ msg }) => msg === 'server not reached');
    expect(failures.some(({ node }) => node === idOfNode(nodes[1]!))).toBe(true);
    expect(JSON.stringify(failures)).not.toContain('no answer within 15000 ms');
    await nodes[1]!.kill();
    expect(Object.keys(played).length).toBeGreaterThan(10);
    expect(digests(await playAll(nodes[0]!.url, idOf(assets[0]!)))).toBe(expected);
    await knowsOthers(nodes[0]!, 1);
  });

  test('a server that stops tells the others, and still answers until load balancers have noticed', async () => {
    const joined = await start({ DRAIN: '1h' });
    nodes = [nodes[0]!, joined];
    await Promise.all(nodes.map((node) => knowsOthers(node, 2)));
    joined.signal('SIGTERM');
    await until('it is not ready any more', async () => (await fetch(`${joined.url}/readyz`)).status === 503);
    await knowsOthers(nodes[0]!, 1);
    expect(Object.keys(await playAll(joined.url, idOf(assets[0]!))).length).toBeGreaterThan(10);
    await joined.kill();
    // Nobody is left who has to notice.
    expect(await nodes[0]!.stop()).toBe(0);
  });
});

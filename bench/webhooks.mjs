import { fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { migrate } from '../dist/db/migrate.js';
import { openDatabase } from '../dist/db/open-database.js';
import { insertEvent } from '../dist/db/tables/server/event.js';
import { makeEvent } from '../dist/domain/events/record-event.js';
import { signWebhook } from '../dist/domain/webhooks/sign-webhook.js';
import { WebhookDeliverer } from '../dist/jobs/webhook-deliverer.js';
import { systemClock } from '../dist/lib/clock.js';
import { WebhookClient } from '../dist/net/webhook-client.js';
import { createLogger } from '../dist/telemetry/logger.js';
import { ratio, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';

export const title =
  'webhook deliveries, compared with a simple loop of the same signed POSTs; the API with and without webhooks';
export const needs = [];

const REPETITIONS = 5;
const EVENTS = 1000;
const PARALLEL = 8;
const REQUESTS = 60;
const SECRET = 'q7m2x9v4t1c8r5n0z3k6h2j9d4s7p1lw';

const self = fileURLToPath(import.meta.url);

/** Runs in its own process, like real receivers. */
const startReceiver = () =>
  new Promise((resolve) => {
    const child = fork(self, ['receive']);
    child.once('message', (port) => resolve({ url: `http://127.0.0.1:${port}`, stop: () => child.kill() }));
  });

if (process.argv[2] === 'receive') {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end());
  });
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
}

/** The size of this body is typical for asset events. */
const data = { id: 'A'.repeat(40), filler: 'x'.repeat(1500) };

const deliveries = async (url) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'kinora-bench-'));
  const logger = createLogger('error', 'json');
  const database = await openDatabase({ dataDir, logger });
  const db = database.queryable;
  const sender = new WebhookClient({ allowPrivate: true });
  const environment = { id: 'bench0', name: 'bench' };
  const count = async (state) =>
    Number(
      (
        await db
          .selectFrom('webhook_delivery')
          .select(({ fn }) => fn.countAll().as('count'))
          .where('state', '=', state)
          .executeTakeFirst()
      ).count,
    );
  try {
    await migrate(database);
    await db
      .insertInto('environment')
      .values({ ...environment, type: 'development' })
      .execute();
    const webhook = { id: 'hook00', environment_id: environment.id, address: url, signing_secret: SECRET };
    await db.insertInto('webhook').values(webhook).execute();
    const [ours, theirs] = [[], []];
    for (let i = -1; i < REPETITIONS; i++) {
      const bodies = [];
      await database.transaction(async (tx) => {
        for (let n = 0; n < EVENTS; n++) {
          const object = { type: 'asset', id: `asset ${i} ${n}` };
          const event = makeEvent(environment, { type: 'video.asset.ready', object, data }, systemClock.now());
          bodies.push(event.body);
          await insertEvent(tx, event);
        }
      });
      const before = await count('succeeded');
      const deliverer = new WebhookDeliverer({ database, sender, clock: systemClock, logger, mayWork: () => true });
      const a = performance.now();
      await deliverer.start();
      while ((await count('succeeded')) < before + EVENTS) await delay(20);
      const aMs = performance.now() - a;
      await deliverer.stop(1000);

      const b = performance.now();
      await Promise.all(
        Array.from({ length: PARALLEL }, async () => {
          for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) {
            const signature = signWebhook(SECRET, Math.floor(systemClock.now().getTime() / 1000), body);
            const { status } = await sender.send(url, { body, signature });
            if (status !== 200) throw new Error(`the receiver answered ${status}`);
          }
        }),
      );
      const bMs = performance.now() - b;
      if (i < 0) continue;
      ours.push(EVENTS / (aMs / 1000));
      theirs.push(EVENTS / (bMs / 1000));
    }
    console.log(
      `Median (min to max) of ${REPETITIONS} x ${EVENTS} events, alternating; ${PARALLEL} concurrent requests each\n`,
    );
    table([
      ['', 'Kinora, with stored events, 1/s', 'loop, 1/s', 'Kinora / loop'],
      ['deliveries to one webhook', spread(ours), spread(theirs), ratio(ours, theirs)],
    ]);
  } finally {
    await database.close();
    await rm(dataDir, { recursive: true, force: true });
  }
};

const requests = async (url) => {
  // Never responds to requests for a source, so that no ingest disturbs the measurement.
  const origin = createServer(() => undefined).listen(0, '127.0.0.1');
  const server = await startKinora();
  const call = async (method, path, body) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { authorization: server.authorization, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text ? JSON.parse(text).data : undefined;
  };
  const timed = async (work) => {
    const startedMs = performance.now();
    for (let n = 0; n < REQUESTS; n++) await work();
    return (performance.now() - startedMs) / REQUESTS;
  };
  const input = `http://127.0.0.1:${origin.address().port}/movie.mp4`;
  const kinds = {
    'POST an asset': () => call('POST', '/video/v1/assets', { inputs: [{ url: input }] }),
    'GET a page of 25 assets': () => call('GET', '/video/v1/assets'),
  };
  try {
    const found = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, { none: [], three: [] }]));
    for (let i = -1; i < REPETITIONS; i++) {
      for (const state of ['none', 'three']) {
        const made = [];
        for (let n = 0; state === 'three' && n < 3; n++)
          made.push(await call('POST', '/system/v1/webhooks', { address: `${url}/${i}/${n}` }));
        for (const [kind, work] of Object.entries(kinds)) {
          const ms = await timed(work);
          if (i >= 0) found[kind][state].push(ms);
        }
        for (const { id } of made) await call('DELETE', `/system/v1/webhooks/${id}`);
      }
    }
    console.log(`\nMedian (min to max) of ${REPETITIONS} x ${REQUESTS} sequential requests, alternating\n`);
    table([
      ['', 'without webhooks, ms', 'with three, ms', 'with / without'],
      ...Object.entries(found).map(([kind, { none, three }]) => [
        kind,
        spread(none),
        spread(three),
        ratio(three, none),
      ]),
    ]);
  } finally {
    await server.stop();
    origin.closeAllConnections();
    origin.close();
  }
};

export const run = async () => {
  const receiver = await startReceiver();
  try {
    await deliveries(receiver.url);
    await requests(receiver.url);
  } finally {
    receiver.stop();
  }
};

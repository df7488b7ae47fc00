import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { type Receiver, startReceiver } from '../../support/servers/webhook-receiver.js';
import { createWebhook, deliveriesOf } from '../../support/servers/webhooks.js';
import { createAsset } from '../../support/wire/create-asset.js';

let receiver: Receiver;
let isSilent = true;
const dataDir = makeDataDir();
beforeAll(async () => {
  receiver = await startReceiver((_, response) => {
    if (!isSilent) response.end();
  });
});
afterAll(async () => {
  await cleanUpServers();
  await receiver?.stop();
});

const newAssets = async (server: ServerProcess, count: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let n = 0; n < count; n++)
    ids.push((await createAsset(server, { inputs: [{ url: 'http://169.254.169.254/a.mp4' }] })).id);
  return ids;
};

it('events of a server that is killed between commit and delivery arrive after its restart', async () => {
  const before = await startServer({ dataDir });
  const webhook = await createWebhook(before, `${receiver.url}/in`);
  // More than are sent at once: some are on their way, some were never looked at.
  const ids = await newAssets(before, 12);
  await receiver.until('/in', 4);
  await before.kill();
  isSilent = false;
  const sentBefore = receiver.received.length;

  const after = await startServer({ dataDir });
  // Refused at once: each asset is errored too.
  await until('every event', async () => {
    const deliveries = await deliveriesOf(after, webhook.id);
    return deliveries.length === 24 && deliveries.every(({ state }) => state === 'succeeded');
  });
  const sent = receiver.received.slice(sentBefore).map(({ event }) => `${event.object.id} ${event.type}`);
  const expected = ids.flatMap((id) => [`${id} video.asset.created`, `${id} video.asset.errored`]);
  expect(sent.toSorted()).toEqual(expected.toSorted());
  for (const id of ids) {
    expect(sent.indexOf(`${id} video.asset.created`)).toBeLessThan(sent.indexOf(`${id} video.asset.errored`));
  }

  // What was taken is not sent again by another restart.
  await after.kill();
  const count = receiver.received.length;
  const last = await startServer({ dataDir });
  const [id] = await newAssets(last, 1);
  await until('the last event', () => receiver.received.some(({ event }) => event.object.id === id));
  const later = receiver.received.slice(count).map(({ event }) => event.object.id);
  expect(new Set(later)).toEqual(new Set([id]));
  await last.stop();
});

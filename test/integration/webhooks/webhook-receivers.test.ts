import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Booted, boot } from '../../support/servers/boot.js';
import { until } from '../../support/servers/server-process.js';
import { type Receiver, startReceiver } from '../../support/servers/webhook-receiver.js';
import { createWebhook, deliveriesOf, movableClock, untilNothingIsDue } from '../../support/servers/webhooks.js';
import { api, createAsset } from '../../support/wire/create-asset.js';
import { expectError } from '../../support/wire/expect-error.js';

const clock = movableClock();
/** How often a path still answers 500. */
const failures: Record<string, number> = {};
let receiver: Receiver;
let server: Booted;
beforeAll(async () => {
  receiver = await startReceiver(async (_, response, { path }) => {
    if (path.startsWith('/silent')) return;
    if (path === '/uneven') await delay(50 * (receiver.at(path).length % 3));
    if ((failures[path] ?? 0) > 0) {
      failures[path]!--;
      response.writeHead(500);
    }
    response.end();
  });
  server = await boot({ clock });
});
afterAll(async () => {
  await server?.stop();
  await receiver?.stop();
});

/** Never fetched: its origin does not answer. */
const newAsset = () => createAsset(server, { inputs: [{ url: `${receiver.url}/silent.mp4` }] });
const addPlaybackId = async (assetId: string): Promise<string> =>
  (await (await api(server, 'POST', `/video/v1/assets/${assetId}/playback-ids`, { policy: 'public' })).json()).data.id;
const removeWebhook = (id: string) => api(server, 'DELETE', `/system/v1/webhooks/${id}`);
const patch = (id: string, change: object) => api(server, 'PATCH', `/system/v1/webhooks/${id}`, change);

describe('receivers', () => {
  it('that never answer delay neither another one nor the API', async () => {
    const silent = [];
    for (let n = 0; n < 11; n++) silent.push(await createWebhook(server, `${receiver.url}/silent/${n}`));
    const good = await createWebhook(server, `${receiver.url}/good`);
    const startMs = performance.now();
    await Promise.all(Array.from({ length: 30 }, newAsset));
    await receiver.until('/good', 30);
    // They hang for 5 s each, at most 88 at a time.
    const sent = receiver.received.filter(({ path }) => path.startsWith('/silent/'));
    const turns = 1 + Math.floor((performance.now() - startMs) / 5000);
    expect(sent.length).toBeLessThanOrEqual(88 * turns);
    // An attempt is written after its answer.
    await expect
      .poll(async () => (await deliveriesOf(server, good.id))[0])
      .toMatchObject({ attempts: [expect.anything()] });
    for (const { id } of [...silent, good]) await removeWebhook(id);
  });

  it('get the events of an object in their order, those of several side by side', async () => {
    const webhook = await createWebhook(server, `${receiver.url}/uneven`);
    const assets = [await newAsset(), await newAsset(), await newAsset()];
    for (let n = 0; n < 6; n++) for (const { id } of assets) await addPlaybackId(id);
    await receiver.until('/uneven', 21);
    for (const { id } of assets) {
      const sizes = receiver
        .at('/uneven')
        .filter(({ event }) => event.object.id === id)
        .map(({ event }) => ((event.data.playback_ids as unknown[] | undefined) ?? []).length);
      expect(sizes).toEqual([0, 1, 2, 3, 4, 5, 6]);
    }
    await removeWebhook(webhook.id);
  });

  it('get later events of an object after one that failed for a short time, not for a long one', async () => {
    const webhook = await createWebhook(server, `${receiver.url}/order`);
    const typesOf = (assetId: string) =>
      receiver
        .at('/order')
        .filter(({ event }) => event.object.id === assetId)
        .map(({ event }) => event.type.replace('video.asset.', ''));
    failures['/order'] = 1;
    const first = await newAsset();
    await receiver.until('/order', 1);
    await addPlaybackId(first.id);
    // Another object does not wait.
    const second = await newAsset();
    await receiver.until('/order', 2);
    expect(typesOf(first.id)).toEqual(['created']);
    expect(typesOf(second.id)).toEqual(['created']);
    clock.aheadMs += 17_000;
    await receiver.until('/order', 4);
    expect(typesOf(first.id)).toEqual(['created', 'created', 'updated']);

    failures['/order'] = 3;
    const third = await newAsset();
    await receiver.until('/order', 5);
    for (let n = 6; n <= 7; n++) {
      clock.aheadMs += 40_000;
      await receiver.until('/order', n);
    }
    // More than a minute old and waiting for its next attempt: what comes now passes it.
    await untilNothingIsDue(server, webhook.id, clock);
    await addPlaybackId(third.id);
    await receiver.until('/order', 8);
    expect(typesOf(third.id)).toEqual(['created', 'created', 'created', 'updated']);
    await removeWebhook(webhook.id);
  });

  it('get nothing of the time when they were disabled', async () => {
    failures['/off'] = 1;
    const webhook = await createWebhook(server, `${receiver.url}/off`);
    await newAsset();
    await receiver.until('/off', 1);
    await untilNothingIsDue(server, webhook.id, clock);
    expect((await patch(webhook.id, { enabled: false })).status).toBe(200);
    expect(await deliveriesOf(server, webhook.id)).toMatchObject([{ state: 'stopped', attempts: { length: 1 } }]);
    await newAsset();
    expect(await deliveriesOf(server, webhook.id)).toHaveLength(1);
    const redelivery = await api(
      server,
      'POST',
      `/system/v1/webhooks/${webhook.id}/deliveries/${(await deliveriesOf(server, webhook.id))[0]!.id}/redeliver`,
    );
    await expectError(redelivery, 400, 'invalid_parameters', ['The webhook is disabled']);
    expect((await patch(webhook.id, { enabled: true })).status).toBe(200);
    clock.aheadMs += 3600_000;
    const { id } = await newAsset();
    const arrived = await receiver.until('/off', 2);
    expect(arrived[1]!.event.object.id).toBe(id);
    await delay(1500);
    expect(receiver.at('/off')).toHaveLength(2);
    await removeWebhook(webhook.id);
  });

  it('get no more when they are deleted, and what waits goes to a new address', async () => {
    failures['/old'] = 2;
    const moved = await createWebhook(server, `${receiver.url}/old`);
    const deleted = await createWebhook(server, `${receiver.url}/deleted`);
    failures['/deleted'] = 1;
    await newAsset();
    await receiver.until('/old', 1);
    await receiver.until('/deleted', 1);
    await untilNothingIsDue(server, moved.id, clock);
    await removeWebhook(deleted.id);
    await patch(moved.id, { address: `${receiver.url}/new` });
    clock.aheadMs += 17_000;
    const [arrived] = await receiver.until('/new', 1);
    expect(arrived!.body).toBe(receiver.at('/old')[0]!.body);
    expect([receiver.at('/old').length, receiver.at('/deleted').length]).toEqual([1, 1]);
    await removeWebhook(moved.id);
  });

  it('get nothing from before they were made', async () => {
    await newAsset();
    const webhook = await createWebhook(server, `${receiver.url}/late`);
    const { id } = await newAsset();
    const [arrived] = await receiver.until('/late', 1);
    expect(arrived!.event.object.id).toBe(id);
    expect(await deliveriesOf(server, webhook.id)).toHaveLength(1);
    await removeWebhook(webhook.id);
  });
});

describe('POST /system/v1/webhooks/{id}/test', () => {
  it('sends an event at once, to a disabled webhook too, and tells what came of it', async () => {
    const webhook = await createWebhook(server, `${receiver.url}/try`);
    await patch(webhook.id, { enabled: false });
    const response = await api(server, 'POST', `/system/v1/webhooks/${webhook.id}/test`);
    expect(response.status).toBe(201);
    const { data } = await response.json();
    expect(data).toMatchObject({
      webhook_id: webhook.id,
      event: { type: 'kinora.webhook.test', object: { type: 'webhook', id: webhook.id } },
      state: 'succeeded',
      attempts: [{ number: 1, response_status_code: 200, response_body: '' }],
    });
    expect(receiver.at('/try')).toMatchObject([{ event: { id: data.event.id, type: 'kinora.webhook.test' } }]);
    failures['/try'] = 1;
    const failed = await (await api(server, 'POST', `/system/v1/webhooks/${webhook.id}/test`)).json();
    expect(failed.data).toMatchObject({ state: 'failed', attempts: [{ response_status_code: 500 }] });
    await patch(webhook.id, { enabled: true });
    clock.aheadMs += 3600_000;
    await delay(1500);
    expect(receiver.at('/try')).toHaveLength(2);
    expect(await deliveriesOf(server, webhook.id)).toEqual([failed.data, data]);
    await until('the events', async () => {
      const events = await (await api(server, 'GET', '/system/v1/events?type=kinora.webhook.test')).json();
      return events.data.length === 2;
    });
    await removeWebhook(webhook.id);
  });
});

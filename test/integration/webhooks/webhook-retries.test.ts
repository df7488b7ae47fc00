import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type Receiver, startReceiver } from '../../support/servers/webhook-receiver.js';
import { createWebhook, deliveriesOf, movableClock, untilNothingIsDue } from '../../support/servers/webhooks.js';
import { api, createAsset, settled } from '../../support/wire/create-asset.js';

const PAUSES = [15, 30, 60, 120, 300, 600, 1200, 2400, 3600, 7200, 10_800, 14_400, 14_400, 14_400, 14_400];
/** Refused at once, without a request: the asset is created and errored. */
const REFUSED = 'http://169.254.169.254/a.mp4';

const clock = movableClock();
const down = new Set<string>();
/** Ids of the events that a path has answered with 2xx, as often as it did. */
const taken: Record<string, string[]> = {};
let receiver: Receiver;
let server: Booted;
beforeAll(async () => {
  receiver = await startReceiver((_, response, { path, event }) => {
    if (down.has(path)) {
      response.writeHead(503).end('closed');
      return;
    }
    taken[path] ??= [];
    taken[path].push(event.id);
    response.end();
  });
  server = await boot({ clock });
});
afterAll(async () => {
  await server?.stop();
  await receiver?.stop();
});

/** Moves the clock past the next attempt of everything that waits. */
const passPause = async (webhookId: string): Promise<void> => {
  const waiting = (await deliveriesOf(server, webhookId)).flatMap(({ next_attempt_at: at }) => at ?? []);
  const last = Math.max(...waiting.map((at) => Date.parse(at)));
  clock.aheadMs += Math.max(0, last - clock.now().getTime()) + 1;
  await untilNothingIsDue(server, webhookId, clock);
};

describe('a receiver that is down', () => {
  it('for hours, then back: everything arrives, and nothing twice', async () => {
    down.add('/hours');
    const webhook = await createWebhook(server, `${receiver.url}/hours`);
    const assets = [];
    for (let n = 0; n < 5; n++) assets.push(await createAsset(server, { inputs: [{ url: REFUSED }] }));
    for (const { id } of assets) await settled(server, id);
    // The second event of an asset waits a minute for the first one.
    clock.aheadMs += 61_000;
    await untilNothingIsDue(server, webhook.id, clock);
    for (let attempt = 2; attempt <= 10; attempt++) await passPause(webhook.id);
    const during = await deliveriesOf(server, webhook.id);
    expect(during).toHaveLength(10);
    for (const { state, attempts } of during) {
      expect(state).toBe('pending');
      expect(attempts.length).toBeGreaterThanOrEqual(9);
      for (const [at, attempt] of attempts.entries())
        expect(attempt).toMatchObject({ number: at + 1, response_status_code: 503, response_body: 'closed' });
    }
    expect(taken['/hours']).toBeUndefined();

    down.delete('/hours');
    await passPause(webhook.id);
    const after = await deliveriesOf(server, webhook.id);
    expect(after.map(({ state }) => state)).toEqual(during.map(() => 'succeeded'));
    // Days later nothing more comes.
    clock.aheadMs += 48 * 3600_000;
    await delay(2500);
    expect(taken['/hours']!.toSorted()).toEqual(during.map(({ event }) => event.id).sort());

    const requests = receiver.at('/hours');
    for (const { event } of during) {
      const same = requests.filter((request) => request.event.id === event.id);
      expect(same.length).toBeGreaterThanOrEqual(10);
      // The same bytes each time, signed anew with the time of the attempt.
      expect(new Set(same.map(({ body }) => body)).size).toBe(1);
      const times = same.map(({ headers, body }) => {
        const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['mux-signature']))!;
        expect(v1).toBe(createHmac('sha256', webhook.signing_secret).update(`${t}.${body}`).digest('hex'));
        return Number(t);
      });
      expect(new Set(times).size).toBe(times.length);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
    }
    await api(server, 'DELETE', `/system/v1/webhooks/${webhook.id}`);
  });

  it('for longer is tried sixteen times by the timetable, then given up', async () => {
    down.add('/gone');
    const webhook = await createWebhook(server, `${receiver.url}/gone`);
    await createAsset(server, { inputs: [{ url: `${receiver.url}/unanswered.mp4` }] });
    await receiver.until('/gone', 1);
    await untilNothingIsDue(server, webhook.id, clock);
    const scheduled: number[][] = [];
    for (let attempt = 1; attempt < 16; attempt++) {
      const [delivery] = await deliveriesOf(server, webhook.id);
      expect(delivery!.attempts).toHaveLength(attempt);
      const made = Date.parse(delivery!.attempts.at(-1)!.created_at);
      scheduled.push([PAUSES[attempt - 1]!, (Date.parse(delivery!.next_attempt_at!) - made) / 1000]);
      await passPause(webhook.id);
    }
    for (const [pause, planned] of scheduled) {
      expect(planned).toBeGreaterThanOrEqual(pause! * 0.9);
      // The pause begins when the answer has come.
      expect(planned).toBeLessThanOrEqual(pause! * 1.1 + 5);
    }
    // Not all the same part of their pause: there is a jitter.
    expect(new Set(scheduled.map(([pause, planned]) => (planned! / pause!).toFixed(2))).size).toBeGreaterThan(3);
    const [created] = await deliveriesOf(server, webhook.id);
    expect(created).toMatchObject({ state: 'failed', attempts: { length: 16 } });
    expect(created).not.toHaveProperty('next_attempt_at');
    clock.aheadMs += 48 * 3600_000;
    await delay(2500);
    expect(receiver.at('/gone')).toHaveLength(16);

    const shown = await (await api(server, 'GET', `/system/v1/events/${created!.event.id}`)).json();
    expect(shown.data.attempts).toHaveLength(16);
    expect(shown.data.attempts[0]).toMatchObject({
      webhook_id: webhook.id,
      address: webhook.address,
      max_attempts: 16,
      response_status_code: 503,
      response_body: 'closed',
    });

    // Sent again by hand: a delivery of its own.
    down.delete('/gone');
    const path = `/system/v1/webhooks/${webhook.id}/deliveries/${created!.id}/redeliver`;
    const again = await api(server, 'POST', path);
    expect(again.status).toBe(201);
    const { data } = await again.json();
    expect(data).toMatchObject({ webhook_id: webhook.id, event: created!.event });
    expect(data.id).not.toBe(created!.id);
    const arrived = await receiver.until('/gone', 17);
    expect(arrived.at(-1)!.body).toBe(arrived[0]!.body);
    await untilNothingIsDue(server, webhook.id, clock);
    const states = (await deliveriesOf(server, webhook.id)).map(({ state }) => state);
    expect(states).toEqual(['succeeded', 'failed']);
  });
});

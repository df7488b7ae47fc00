import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Api, startApi } from '../../support/servers/api.js';
import { type ConsoleSession, signIn } from '../../support/wire/console.js';

let api: Api;
beforeAll(async () => {
  api = await startApi({ allowPrivate: ['127.0.0.0/8'] });
});
afterAll(() => api?.stop());

interface Received {
  readonly id: string;
  readonly event: string;
  readonly data: { type: string; id?: string };
}

/** Opens a stream as a tab of the browser does. */
const openStream = async ({ cookie }: ConsoleSession, lastEventId?: string) => {
  const closing = new AbortController();
  const response = await fetch(`${api.origin}/console/api/stream`, {
    headers: { cookie, ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) },
    signal: closing.signal,
  });
  const received: Received[] = [];
  const ended = (async () => {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
      const parts = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
      rest = parts.pop()!;
      for (const part of parts) {
        const fields = Object.fromEntries(part.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)));
        if (fields.event) received.push({ id: fields.id, event: fields.event, data: JSON.parse(fields.data) });
      }
    }
  })().catch(() => undefined);
  return {
    response,
    received,
    ended,
    close: () => closing.abort(),
    /** The events so far, as soon as one is as `isLast` says. */
    until: async (isLast: (event: Received) => boolean): Promise<Received[]> => {
      await expect.poll(() => received.some(isLast)).toBe(true);
      return received;
    },
  };
};

const newAsset = async (token: string): Promise<string> => {
  const body = { inputs: [{ url: 'https://example.com/a.mp4' }], playback_policies: ['public'] };
  const response = await api.callAs(token, 'POST', '/video/v1/assets', body);
  return (await response.json()).data.id;
};

it('tells every tab about changes as soon as they are committed, in order, and only about its environment', async () => {
  const environment = await api.newEnvironment('Other');
  const otherToken = await api.newToken({ name: 'other', environmentId: environment.id });
  const session = await signIn(api);
  const tabs = [await openStream(session), await openStream(session)];
  const other = await openStream(await signIn(api, otherToken));
  expect(tabs[0]!.response.headers.get('content-type')).toBe('text/event-stream');
  expect(tabs[0]!.response.headers.get('cache-control')).toBe('no-store');

  const otherId = await newAsset(otherToken);
  const id = await newAsset(api.token);
  await api.makeReady(id, 5);
  await api.call('DELETE', `/video/v1/assets/${id}`);
  for (const { until } of tabs) {
    const events = await until(({ event, data }) => event === 'asset' && data.type === 'deleted');
    const ofAsset = events.filter(({ data }) => data.id === id).map(({ data }) => data.type);
    expect([ofAsset[0], ofAsset.at(-1)]).toEqual(['created', 'deleted']);
    expect(new Set(ofAsset)).toEqual(new Set(['created', 'updated', 'deleted']));
    expect(events.map(({ event, data }) => `${event} ${data.type}`)).toEqual(
      expect.arrayContaining(['event video.asset.created', 'event video.asset.deleted', 'job queued']),
    );
    // Jobs belong to the server, of which this session is an administrator.
    expect(JSON.stringify(events.filter(({ event }) => event !== 'job'))).not.toContain(otherId);
  }
  const events = await other.until(({ data }) => data.id === otherId);
  expect(JSON.stringify(events)).not.toContain(id);
  expect(events.filter(({ event }) => event === 'job')).toEqual([]);
  for (const tab of [...tabs, other]) tab.close();
});

it('continues where it was interrupted', async () => {
  const session = await signIn(api);
  const before = await openStream(session);
  const first = await newAsset(api.token);
  const { id } = (await before.until(({ data }) => data.id === first)).at(-1)!;
  before.close();
  await before.ended;
  const second = await newAsset(api.token);
  const after = await openStream(session, id);
  const events = await after.until(({ data }) => data.id === second);
  expect(events.map(({ event }) => event)).not.toContain('reset');
  after.close();
  const stranger = await openStream(session, 'of-a-server-that-was-restarted');
  await stranger.until(({ event }) => event === 'reset');
  stranger.close();
});

it('ends when the user signs out or changes the environment, and is refused without a session', async () => {
  const session = await signIn(api);
  const stream = await openStream(session);
  const { id } = await api.newEnvironment('Third');
  await session.call('PATCH', '/console/api/session', { environment_id: id });
  await stream.ended;
  const again = await openStream(session);
  await again.until(({ event }) => event === 'open');
  await session.call('DELETE', '/console/api/session');
  await again.ended;
  expect((await openStream(session)).response.status).toBe(401);
  expect((await fetch(`${api.origin}/console/api/stream`)).status).toBe(401);
});

it('tells about deliveries of webhooks', async () => {
  const webhook = await api.call('POST', '/system/v1/webhooks', { address: 'http://127.0.0.1:1/hook' });
  const { id } = (await webhook.json()).data;
  const stream = await openStream(await signIn(api));
  await newAsset(api.token);
  await stream.until(({ event, data }) => event === 'webhook' && data.id === id && data.type === 'delivery');
  stream.close();
});

it('does not delay the end of the server', async () => {
  const own = await startApi();
  const link = await signIn(own);
  const response = await fetch(`${own.origin}/console/api/stream`, { headers: { cookie: link.cookie } });
  const body = response.text();
  await own.stop();
  expect(await body).toContain('event: open');
});

it('refuses more streams of one session than a browser has, and none of others', async () => {
  const [greedy, other] = [await signIn(api), await signIn(api)];
  const tabs: Awaited<ReturnType<typeof openStream>>[] = [];
  for (let number = 0; number < 24; number++) tabs.push(await openStream(greedy));
  expect(tabs.map(({ response }) => response.status)).toEqual(tabs.map(() => 200));
  const refused = await fetch(`${api.origin}/console/api/stream`, { headers: { cookie: greedy.cookie } });
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
  expect(await refused.json()).toEqual({
    error: { type: 'unavailable', messages: ['Too many pages of the console are open'] },
  });
  const allowed = await openStream(other);
  expect(allowed.response.status).toBe(200);
  for (const tab of [...tabs, allowed]) tab.close();
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { keepConfiguredWebhook } from '#kinora/domain/webhooks/configured-webhook.js';
import { type Api, startApi } from '../../support/servers/api.js';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const keep = (url?: string, secret?: string, hasOthers = false) =>
  keepConfiguredWebhook(api.database, { url, secret, hasOthers }, api.clock);
const list = async () =>
  (await api.database.queryable.selectFrom('webhook').selectAll().orderBy('seq').execute()).map(
    ({ id, address, enabled, signing_secret, configured }) => ({ id, address, enabled, signing_secret, configured }),
  );
const A = 'https://a.example.org/in';
const B = 'https://b.example.org/in';
const SECRET = 'a-configured-secret';

it('keeps one webhook as the configuration says', async () => {
  await keep();
  expect(await list()).toEqual([]);
  await keep(A, SECRET);
  const [first] = await list();
  expect(first).toMatchObject({ address: A, enabled: true, signing_secret: SECRET, configured: true });
  await keep(A, SECRET);
  expect(await list()).toEqual([first]);

  // What the API changed lasts until the next start.
  await api.call('PATCH', `/system/v1/webhooks/${first!.id}`, { enabled: false });
  await keep(A, 'another-configured-secret');
  expect(await list()).toEqual([{ ...first, signing_secret: 'another-configured-secret' }]);
  await keep(B, SECRET);
  expect(await list()).toEqual([{ ...first, address: B }]);

  // One that the API made is taken over, and stays alone.
  const made = (await (await api.call('POST', '/system/v1/webhooks', { address: A })).json()).data;
  await keep(A, SECRET);
  expect(await list()).toEqual([{ id: made.id, address: A, enabled: true, signing_secret: SECRET, configured: true }]);

  const other = (await (await api.call('POST', '/system/v1/webhooks', { address: B })).json()).data;
  expect(await keep(undefined, undefined, true)).toBe(false);
  expect((await list()).map(({ id }) => id)).toEqual([made.id, other.id]);
  expect(await keep()).toBe(true);
  expect((await list()).map(({ id }) => id)).toEqual([other.id]);
});

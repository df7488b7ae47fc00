import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#kinora/lib/ids.js';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError, NOT_FOUND } from '../support/wire/expect-error.js';

let api: Api;
let budgetId: string;
const COLLECTION = '/video/v1/delivery-budgets';
const PUBLIC = '/video/v1/public-playback-restriction';
const VALID = { period: 'month', bytes: 1_000_000, action: 'stop' };
beforeAll(async () => {
  api = await startApi();
  budgetId = (await (await api.call('POST', COLLECTION, VALID)).json()).data.id;
});
afterAll(() => api?.stop());

const RANGE = 'must be between 1 and 9007199254740991';
const AMOUNTS: [string, object, string[]][] = [
  ['no bytes at all', { bytes: 0 }, [`bytes ${RANGE}`]],
  ['a negative amount', { bytes: -1 }, [`bytes ${RANGE}`]],
  ['a fraction', { bytes: 0.5 }, ['bytes must be an integer']],
  ['a fraction of a second', { seconds: 1.5 }, ['seconds must be an integer']],
  ['a text', { seconds: '60' }, ['seconds must be an integer']],
  ['too much', { bytes: 1e300 }, [`bytes ${RANGE}`]],
  ['both units', { bytes: 1, seconds: 1 }, ['bytes and seconds cannot be used together']],
];
const RULES: [string, object, string[]][] = [
  ['an unknown period', { period: 'week' }, ['period must be one of: day, month']],
  ['an unknown action', { action: 'slow' }, ['action must be one of: notify, step_down, stop']],
];

describe('POST /video/v1/delivery-budgets refuses', () => {
  it.each<[string, unknown, string[]]>([
    ['no body', undefined, ['period is required', 'Either bytes or seconds is required']],
    ['a list', [], ['Request body must be a JSON object']],
    ['no period', { bytes: 1 }, ['period is required']],
    ['no amount', { period: 'day' }, ['Either bytes or seconds is required']],
    ...AMOUNTS.map(([name, fields, messages]) => [name, { period: 'day', ...fields }, messages] as never),
    ...RULES.map(([name, fields, messages]) => [name, { period: 'day', bytes: 1, ...fields }, messages] as never),
    ['an unknown asset', { ...VALID, asset_id: newId() }, ['asset_id does not refer to an existing asset']],
    ['an asset ID that is none', { ...VALID, asset_id: '..' }, ['asset_id does not refer to an existing asset']],
    ['a second one', VALID, ['A delivery budget of the environment with period month already exists']],
  ])('%s', async (_, body, messages) => {
    await expectError(await api.call('POST', COLLECTION, body), 400, 'invalid_parameters', messages);
  });
});

describe('PATCH /video/v1/delivery-budgets/:id refuses', () => {
  it.each<[string, object, string[]]>([...AMOUNTS, ...RULES])('%s', async (_, body, messages) => {
    const response = await api.call('PATCH', `${COLLECTION}/${budgetId}`, body);
    await expectError(response, 400, 'invalid_parameters', messages);
  });

  it('the period of another one', async () => {
    const day = (await (await api.call('POST', COLLECTION, { ...VALID, period: 'day' })).json()).data;
    await expectError(
      await api.call('PATCH', `${COLLECTION}/${day.id}`, { period: 'month' }),
      400,
      'invalid_parameters',
      ['A delivery budget of the environment with period month already exists'],
    );
    expect((await api.call('DELETE', `${COLLECTION}/${day.id}`)).status).toBe(204);
  });
});

it('changes only what is sent, and lists by asset', async () => {
  const path = `${COLLECTION}/${budgetId}`;
  const { created_at: _, updated_at: __, ...before } = (await (await api.call('GET', path)).json()).data;
  expect(before).toMatchObject({ ...VALID, delivered_bytes: 0, status: 'within' });
  const changed = (await (await api.call('PATCH', path, { seconds: 60 })).json()).data;
  expect(changed).toMatchObject({ period: 'month', seconds: 60, action: 'stop', delivered_seconds: 0 });
  expect(changed).not.toHaveProperty('bytes');
  const ids = async (query: string): Promise<string[]> =>
    (await (await api.call('GET', COLLECTION + query)).json()).data.map(({ id }: { id: string }) => id);
  const asset = { inputs: [{ url: 'https://example.com/a.mp4' }] };
  const { id: assetId } = (await (await api.call('POST', '/video/v1/assets', asset)).json()).data;
  const own = (await (await api.call('POST', COLLECTION, { ...VALID, asset_id: assetId })).json()).data;
  expect(await ids('')).toEqual([own.id, budgetId]);
  expect(await ids('?asset_id=none')).toEqual([budgetId]);
  expect(await ids(`?asset_id=${assetId}`)).toEqual([own.id]);
  // It goes with its asset.
  await api.call('DELETE', `/video/v1/assets/${assetId}`);
  await expectError(await api.call('GET', `${COLLECTION}/${own.id}`), 404, 'not_found', [NOT_FOUND]);
});

describe('PUT /video/v1/public-playback-restriction refuses', () => {
  it.each<[string, unknown, string[]]>([
    ['no body', undefined, ['playback_restriction_id is required']],
    ['a number', { playback_restriction_id: 7 }, ['playback_restriction_id must be a string or null']],
    [
      'an unknown one',
      { playback_restriction_id: newId() },
      ['playback_restriction_id does not refer to an existing playback restriction'],
    ],
    [
      'an empty text',
      { playback_restriction_id: '' },
      ['playback_restriction_id does not refer to an existing playback restriction'],
    ],
  ])('%s', async (_, body, messages) => {
    await expectError(await api.call('PUT', PUBLIC, body), 400, 'invalid_parameters', messages);
  });
});

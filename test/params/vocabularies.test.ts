import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError, NOT_FOUND } from '../support/wire/expect-error.js';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const PATH = '/video/v1/transcription-vocabularies';
const UNKNOWN = 'A'.repeat(40);
const ID = /^[A-Za-z0-9]{40}$/;

const refused: [string, unknown, string[]][] = [
  ['no body', undefined, ['phrases is required']],
  ['a list for a body', [], ['Request body must be a JSON object']],
  ['no phrases', {}, ['phrases is required']],
  ['null phrases', { phrases: null }, ['phrases is required']],
  ['phrases of a wrong type', { phrases: 'HLS' }, ['phrases must be an array']],
  ['too many phrases', { phrases: Array(1001).fill('x') }, ['phrases must contain at most 1000 entries']],
  ['an empty phrase', { phrases: ['a', 'b', 'c', ''] }, ['phrases[3] must be between 1 and 32 characters']],
  ['a long phrase', { phrases: ['x'.repeat(33)] }, ['phrases[0] must be between 1 and 32 characters']],
  ['a phrase of a wrong type', { phrases: ['a', 1] }, ['phrases[1] must be a string']],
  ['a null phrase', { phrases: [null] }, ['phrases[0] must be a string']],
  ['a phrase with NUL', { phrases: ['a\0'] }, ['phrases[0] must be valid Unicode text without NUL']],
  ['a name of a wrong type', { name: 1, phrases: [] }, ['name must be a string']],
  ['a long passthrough', { phrases: [], passthrough: 'x'.repeat(256) }, ['passthrough must be at most 255 characters']],
  [
    'everything at once, in body order',
    { passthrough: 1, phrases: ['', 2], name: [] },
    [
      'passthrough must be a string',
      'phrases[0] must be between 1 and 32 characters',
      'phrases[1] must be a string',
      'name must be a string',
    ],
  ],
];

describe('vocabularies', () => {
  it.each(refused)('are not made with %s', async (_, body, messages) => {
    await expectError(await api.call('POST', PATH, body), 400, 'invalid_parameters', messages);
  });

  it.each(refused)('are not replaced with %s', async (_, body, messages) => {
    const { id } = await api.sdk().video.transcriptionVocabularies.create({ phrases: [] });
    await expectError(await api.call('PUT', `${PATH}/${id}`, body), 400, 'invalid_parameters', messages);
    await api.sdk().video.transcriptionVocabularies.delete(id);
  });

  it('take all that is allowed', async () => {
    const phrases = Array.from({ length: 1000 }, (_, at) => `${'𝄞'.repeat(28)}${String(at).padStart(4, '0')}`);
    const body = { phrases, passthrough: '𝄞'.repeat(255), name: 'n'.repeat(5000) };
    expect(await api.sdk().video.transcriptionVocabularies.create(body)).toMatchObject(body);
  });

  it.each([
    ['GET', undefined],
    ['PUT', { phrases: 1 }],
    ['DELETE', undefined],
  ])('that are not known are not found: %s', async (method, body) => {
    for (const id of [UNKNOWN, 'x', '%00'])
      await expectError(await api.call(method, `${PATH}/${id}`, body), 404, 'not_found', [NOT_FOUND]);
  });

  it('of another environment are not found', async () => {
    const { id } = await api.sdk().video.transcriptionVocabularies.create({ phrases: ['a'] });
    const { id: environmentId } = await api.newEnvironment('Other');
    const foreign = await api.newToken({ name: 'foreign', environmentId });
    for (const [method, body] of [['GET'], ['PUT', { phrases: [] }], ['DELETE']] as const) {
      await expectError(await api.callAs(foreign, method, `${PATH}/${id}`, body), 404, 'not_found', [NOT_FOUND]);
    }
    expect((await api.sdk(foreign).video.transcriptionVocabularies.list()).data).toEqual([]);
    expect(await api.sdk().video.transcriptionVocabularies.retrieve(id)).toMatchObject({ phrases: ['a'] });
  });

  it('are made, read, replaced as a whole and removed', async () => {
    const { transcriptionVocabularies } = api.sdk().video;
    const made = await transcriptionVocabularies.create({
      name: 'Products',
      phrases: ['Kinora', 'HLS'],
      passthrough: 'p1',
    });
    expect(made).toEqual({
      id: expect.stringMatching(ID),
      name: 'Products',
      phrases: ['Kinora', 'HLS'],
      passthrough: 'p1',
      created_at: expect.stringMatching(/^\d{10}$/),
      updated_at: made.created_at,
    });
    expect(await transcriptionVocabularies.retrieve(made.id)).toEqual(made);
    await api.database.queryable
      .updateTable('transcription_vocabulary')
      .set({ created_at: new Date(1_767_225_600_000), updated_at: new Date(1_767_225_600_000) })
      .where('id', '=', made.id)
      .execute();
    const replaced = await transcriptionVocabularies.update(made.id, { phrases: [] });
    expect(replaced).toEqual({
      id: made.id,
      phrases: [],
      created_at: '1767225600',
      updated_at: expect.stringMatching(/^\d{10}$/),
    });
    expect(Number(replaced.updated_at)).toBeGreaterThanOrEqual(Number(made.created_at));
    expect(await transcriptionVocabularies.delete(made.id)).toBeNull();
    await expect(transcriptionVocabularies.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
  });

  it('are listed newest first, ten at most', async () => {
    const { transcriptionVocabularies } = api.sdk().video;
    const ids: string[] = [];
    for (let at = 0; at < 12; at++) ids.unshift((await transcriptionVocabularies.create({ phrases: [`${at}`] })).id);
    // All in one millisecond, so that only the sequence tells them apart.
    await api.database.queryable
      .updateTable('transcription_vocabulary')
      .set({ created_at: new Date(1_800_000_000_000) })
      .where('id', 'in', ids)
      .execute();
    const idsOf = async (query: string): Promise<string[]> =>
      (await (await api.call('GET', `${PATH}${query}`)).json()).data.map(({ id }: { id: string }) => id);
    expect(await idsOf('')).toEqual(ids.slice(0, 10));
    expect(await idsOf('?limit=100')).toEqual(ids.slice(0, 10));
    expect(await idsOf('?limit=3&page=2')).toEqual(ids.slice(3, 6));
    expect(await idsOf('?page=99&cursor=ignored')).toEqual([]);
    expect(Object.keys(await (await api.call('GET', PATH)).json())).toEqual(['data']);
    const all: string[] = [];
    for await (const { id } of transcriptionVocabularies.list({ limit: 5 })) all.push(id);
    expect(all.slice(0, 12)).toEqual(ids);
  });
});

describe('paging of lists without cursors', () => {
  it.each([PATH, '/video/v1/drm-configurations', '/system/v1/usage/exports'])('is checked: %s', async (path) => {
    const messages = ['page must be a positive integer', 'limit must be a positive integer'];
    await expectError(await api.call('GET', `${path}?page=0&limit=x`), 400, 'invalid_parameters', messages);
  });
});

describe('DRM configurations', () => {
  it('are none', async () => {
    const { drmConfigurations } = api.sdk().video;
    expect((await drmConfigurations.list()).data).toEqual([]);
    await expect(drmConfigurations.retrieve(UNKNOWN)).rejects.toMatchObject({ status: 404 });
    await expectError(await api.call('GET', '/video/v1/drm-configurations/x'), 404, 'not_found', [NOT_FOUND]);
  });
});

describe('usage exports', () => {
  it.each([
    'timeframe[]=1767225600',
    'timeframe[]=1&timeframe[]=2&timeframe[]=3',
    'timeframe[]=2&timeframe[]=1',
    'timeframe[]=1&timeframe[]=1',
    'timeframe[]=a&timeframe[]=b',
    'timeframe[]=1.5&timeframe[]=2',
    'timeframe[]=7',
    'timeframe[]=0:days',
    'timeframe[]=7:moons',
    'timeframe[]=7:days&timeframe[]=24:hours',
    'timeframe[]=',
    'timeframe=x',
  ])('refuse %s', async (query) => {
    const response = await api.call('GET', `/system/v1/usage/exports?${query}`);
    await expectError(response, 400, 'invalid_parameters', ['timeframe is invalid']);
  });

  it.each(['0', 'x', '-1'])('refuse a lifetime of addresses of %s', async (ttl) => {
    const response = await api.call('GET', `/system/v1/usage/exports?download_url_ttl=${ttl}`);
    await expectError(response, 400, 'invalid_parameters', ['download_url_ttl must be a positive integer']);
  });

  it('are none', async () => {
    const { usageExports } = api.sdk().system;
    expect(await usageExports.list()).toEqual({ data: [], meta: { limit: 25, page: 1, pages: 0, total: 0 } });
    for (const timeframe of [['7:days'], ['24:hours'], ['1767225600', '1767312000']]) {
      const response = await usageExports.list({ limit: 500, page: 3, download_url_ttl: 60, timeframe });
      expect(response).toEqual({ data: [], meta: { limit: 100, page: 3, pages: 0, total: 0 } });
    }
    expect((await api.call('GET', '/system/v1/usage/exports?timeframe=1&timeframe=2')).status).toBe(200);
  });
});

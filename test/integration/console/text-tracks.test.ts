import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../../support/servers/api.js';
import { type ConsoleSession, signIn } from '../../support/wire/console.js';

let api: Api;
let app: ConsoleSession;
let assetId: string;

beforeAll(async () => {
  api = await startApi();
  app = await signIn(api);
  const body = { inputs: [{ url: 'https://media.example.org/a.mp4' }], playback_policies: ['public'] };
  assetId = (await (await api.call('POST', '/video/v1/assets', body)).json()).data.id;
});
afterAll(() => api?.stop());

const FILE = { 'content-type': 'application/octet-stream' };
const SRT = '1\n00:00:01,000 --> 00:00:02,500\nTom & Jerry\n\n2\n00:00:03,000 --> 00:00:20,000\n<i>Late</i>\n';

const addFile = (query: string, text = SRT) =>
  app.call('POST', `/console/api/assets/${assetId}/text-tracks?${query}`, text, FILE);
const cuesPath = (trackId: string) => `/console/api/assets/${assetId}/tracks/${trackId}/cues`;
const read = async (response: Response) => ({ status: response.status, ...(await response.json()) });
const texts = async (): Promise<{ id: string; name: string }[]> =>
  (await (await api.call('GET', `/video/v1/assets/${assetId}`)).json()).data.tracks ?? [];
it('a text track can be added only to a ready asset', async () => {
  const response = await read(await addFile('language_code=en'));
  expect(response).toMatchObject({
    status: 400,
    error: { messages: ['Tracks can only be added to a ready asset'] },
  });
  await api.makeReady(assetId, 10);
});

describe('a text track from a file', () => {
  let trackId: string;

  it('is ready at once, with the cues of the file until the end of the asset', async () => {
    const { status, data } = await read(await addFile('language_code=en&name=English%20CC&closed_captions=true'));
    expect(status).toBe(201);
    expect(data).toMatchObject({
      ...{ type: 'text', status: 'ready', text_source: 'uploaded' },
      ...{ name: 'English CC', language_code: 'en', closed_captions: true },
    });
    trackId = data.id;
    expect((await read(await app.call('GET', cuesPath(trackId)))).data).toEqual([
      { start_time: 1, end_time: 2.5, settings: '', text: 'Tom &amp; Jerry' },
      { start_time: 3, end_time: 10, settings: '', text: '<i>Late</i>' },
    ]);
    expect(api.forgotten).toContainEqual({ tracksOf: assetId });
  });

  it.each([
    ['', SRT, 'language_code is required'],
    ['language_code=no_language', SRT, 'language_code must be a valid BCP 47 language code'],
    ['language_code=en&name=English%20CC', SRT, 'name must be unique among text tracks'],
    ['language_code=en', 'no cues', 'The text has no cues. It must be WebVTT or SubRip, with at least one cue.'],
    ['language_code=en', '00:00:11.000 --> 00:00:12.000\nLate', 'All cues are after the end of the asset.'],
  ])('with %j is refused', async (query, text, message) => {
    expect(await read(await addFile(query, text))).toMatchObject({ status: 400, error: { messages: [message] } });
    expect(await texts()).toHaveLength(1);
  });

  it('gets other cues: a new track takes its place, with its name, language and passthrough', async () => {
    await api.call('PATCH', `/video/v1/assets/${assetId}/tracks/${trackId}`, { passthrough: 'cms-1' });
    const cues = [
      { start_time: 4, end_time: 5, settings: 'line:0', text: 'Second\n\n--> line' },
      { start_time: 1.5, end_time: 3, text: 'A < B & C' },
    ];
    const { status, data } = await read(await app.call('PUT', cuesPath(trackId), { cues }));
    expect(status).toBe(200);
    expect(data).toMatchObject({
      ...{ status: 'ready', name: 'English CC', language_code: 'en', closed_captions: true, passthrough: 'cms-1' },
    });
    expect(data.id).not.toBe(trackId);
    expect((await texts()).map(({ id }) => id)).toEqual([data.id]);
    expect((await read(await app.call('GET', cuesPath(data.id)))).data).toEqual([
      { start_time: 1.5, end_time: 3, settings: '', text: 'A &lt; B &amp; C' },
      { start_time: 4, end_time: 5, settings: 'line:0', text: 'Second\n--&gt; line' },
    ]);
    // Someone who edits the old track is told that it is gone.
    expect((await app.call('PUT', cuesPath(trackId), { cues })).status).toBe(404);
    expect((await app.call('GET', cuesPath(trackId))).status).toBe(404);
    trackId = data.id;
  });

  it('has no cues to edit when it is of a live stream', async () => {
    const tracks = api.database.queryable.updateTable('track').where('id', '=', trackId);
    await tracks.set({ text_source: 'generated_live' }).execute();
    const cues = [{ start_time: 1, end_time: 2, text: 'Corrected' }];
    const message = 'Live subtitles cannot be edited. Edit the track that replaces them after the stream.';
    for (const response of [app.call('GET', cuesPath(trackId)), app.call('PUT', cuesPath(trackId), { cues })])
      expect(await read(await response)).toMatchObject({ status: 400, error: { messages: [message] } });
    await tracks.set({ text_source: 'uploaded' }).execute();
  });

  it('stays a generated one when it was generated', async () => {
    const tracks = api.database.queryable.updateTable('track');
    await tracks.set({ text_source: 'generated_vod', language_confidence: 0.9 }).where('id', '=', trackId).execute();
    const cues = [{ start_time: 1, end_time: 2, text: 'Corrected' }];
    const { data } = await read(await app.call('PUT', cuesPath(trackId), { cues }));
    expect(data).toMatchObject({ text_source: 'generated_vod', auto_language_confidence: 0.9 });
    trackId = data.id;
  });

  it.each([
    [{}, ['cues must be a list with at least one cue.']],
    [{ cues: [] }, ['cues must be a list with at least one cue.']],
    [
      { cues: [{ start_time: 2, end_time: 2, text: 'a' }, { start_time: -1, end_time: 2, text: ' \n ' }, 7] },
      [
        'cues[0].end_time must be after start_time',
        'cues[1].start_time must be a number greater than or equal to 0',
        'cues[1].text is required',
        'cues[2].start_time must be a number greater than or equal to 0',
        'cues[2].text is required',
      ],
    ],
    [{ cues: [{ start_time: 11, end_time: 12, text: 'a' }] }, ['All cues are after the end of the asset.']],
  ])('is left as it is by %j', async (body, messages) => {
    const response = await read(await app.call('PUT', cuesPath(trackId), body));
    expect(response).toMatchObject({ status: 400, error: { messages } });
    expect((await texts()).map(({ id }) => id)).toEqual([trackId]);
  });

  it('is not shown to other environments, nor changed by those who may only read', async () => {
    const readOnly = await signIn(api, await api.newToken({ name: 'reader', permissions: ['video:read'] }));
    expect((await readOnly.call('GET', cuesPath(trackId))).status).toBe(200);
    const cues = [{ start_time: 0, end_time: 1, text: 'a' }];
    expect((await readOnly.call('PUT', cuesPath(trackId), { cues })).status).toBe(403);
    expect((await api.callAs(undefined, 'GET', cuesPath(trackId))).status).toBe(401);
    const { id: environmentId } = await api.newEnvironment('other');
    const foreign = await signIn(
      api,
      await api.newToken({ name: 'other', environmentId, permissions: ['video:read', 'video:write'] }),
    );
    expect((await foreign.call('GET', cuesPath(trackId))).status).toBe(404);
    expect((await foreign.call('PUT', cuesPath(trackId), { cues })).status).toBe(404);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { insertTracks } from '#kinora/db/tables/assets/track.js';
import { newId } from '#kinora/lib/ids.js';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError, NOT_FOUND } from '../support/wire/expect-error.js';

let api: Api;
/** Of a ready asset with video, audio and a text track. */
let path: string;
let ids: { video: string; audio: string; text: string };
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());
beforeEach(async () => {
  const { assetId } = await create();
  ids = { video: newId(), audio: newId(), text: newId() };
  const shared = { asset_id: assetId, status: 'ready' };
  await insertTracks(api.database.queryable, [
    { ...shared, id: ids.video, type: 'video' },
    { ...shared, id: ids.audio, type: 'audio', is_primary: true, name: 'Default', language_code: 'und' },
    {
      ...shared,
      id: ids.text,
      type: 'text',
      name: 'French',
      language_code: 'fr',
      text_type: 'subtitles',
      text_source: 'uploaded',
      closed_captions: false,
      passthrough: 'p',
    },
  ]);
  await api.makeReady(assetId, 10);
});

const create = async () => {
  const inputs = [{ url: 'https://media.example.org/talk.mov' }];
  const { data } = await (await api.call('POST', '/video/v1/assets', { inputs })).json();
  path = `/video/v1/assets/${data.id}/tracks`;
  return { assetId: data.id as string };
};

const text = { url: 'https://media.example.org/a.vtt', type: 'text', text_type: 'subtitles', language_code: 'fr' };
const audio = { url: 'https://media.example.org/a.m4a', type: 'audio', language_code: 'fr' };
const UNKNOWN = 'A'.repeat(40);
const LONG = '𝄞'.repeat(255);
const LANGUAGES = 'en, es, it, pt, de, fr, pl, ru, nl, ca, tr, sv, uk, no, fi, sk, el, cs, hr, da, ro, bg, auto';
const refuse = async (response: Response, ...messages: string[]) =>
  expectError(response, 400, 'invalid_parameters', messages);
const notFound = async (response: Response) => expectError(response, 404, 'not_found', [NOT_FOUND]);

describe('POST …/tracks refuses', () => {
  it.each<[string, unknown, string[]]>([
    ['no body', undefined, ['url is required', 'type is required', 'language_code is required']],
    ['a list for a body', [], ['Request body must be a JSON object']],
    ['nulls', { ...text, url: null, type: null }, ['url is required', 'type is required']],
    ['a video', { ...text, type: 'video' }, ['type must be one of: text, audio']],
    ['another text_type', { ...text, text_type: 'chapters' }, ['text_type must be one of: subtitles']],
    [
      'a language that is none',
      { ...text, language_code: 'en_US' },
      ['language_code must be a valid BCP 47 language code'],
    ],
    ['auto as a language', { ...text, language_code: 'auto' }, ['language_code must be a valid BCP 47 language code']],
    ['a relative url', { ...text, url: '/a.vtt' }, ['url must be a valid URL']],
    ['another scheme', { ...text, url: 'ftp://media.example.org/a.vtt' }, ['url must be a valid URL']],
    ['an asset', { ...text, url: `mux://assets/${UNKNOWN}` }, ['url cannot refer to an asset']],
    ['a url of a wrong type', { ...text, url: 4 }, ['url must be a string']],
    ['a long passthrough', { ...text, passthrough: `${LONG}x` }, ['passthrough must be at most 255 characters']],
    ['closed_captions as a text', { ...text, closed_captions: 'yes' }, ['closed_captions must be a boolean']],
    ['a name that is taken', { ...text, name: 'French' }, ['name must be unique among text tracks']],
    ['a name of audio that is taken', { ...audio, name: 'Default' }, ['name must be unique among audio tracks']],
    [
      'everything at once, in body order',
      { name: 1, closed_captions: 1, url: 'x', type: 'text' },
      [
        'language_code is required',
        'name must be a string',
        'closed_captions must be a boolean',
        'url must be a valid URL',
      ],
    ],
  ])('%s', async (_, body, messages) => {
    await refuse(await api.call('POST', path, body), ...messages);
  });

  it('an asset that is not ready', async () => {
    await create();
    await refuse(await api.call('POST', path, text), 'Tracks can only be added to a ready asset');
  });

  it('an unknown asset and that of another environment, before it looks at the body', async () => {
    await notFound(await api.call('POST', `/video/v1/assets/${UNKNOWN}/tracks`, {}));
    const { id: environmentId } = await api.newEnvironment('Tracks');
    const foreign = await api.newToken({ name: 'foreign', environmentId });
    for (const [method, at] of [
      ['POST', path],
      ['PATCH', `${path}/${ids.text}`],
      ['DELETE', `${path}/${ids.text}`],
      ['POST', `${path}/${ids.audio}/generate-subtitles`],
    ] as const)
      await notFound(await api.callAs(foreign, method, at, method === 'DELETE' ? undefined : {}));
  });
});

describe('POST …/tracks', () => {
  it.each<[string, object, object]>([
    [
      'takes everything',
      { ...text, name: 'Deutsch', language_code: 'de', closed_captions: true, passthrough: LONG },
      { name: 'Deutsch', language_code: 'de', closed_captions: true, passthrough: LONG },
    ],
    ['fills the name from the language', { ...text, language_code: 'en-US' }, { name: 'English (United States)' }],
    ['numbers a name that is taken', text, { name: 'French (2)', language_code: 'fr' }],
    ['keeps the code of a language without a name', { ...text, language_code: 'qaa' }, { name: 'qaa' }],
    ['keeps a private code', { ...text, language_code: 'x-own' }, { name: 'x-own', language_code: 'x-own' }],
    ['takes subtitles for the text type', { ...text, text_type: undefined }, { text_type: 'subtitles' }],
    ['takes an empty name for none', { ...text, language_code: 'it', name: '' }, { name: 'Italian' }],
  ])('%s', async (_, body, expected) => {
    const response = await api.call('POST', path, body);
    expect(response.status).toBe(201);
    const { data } = await response.json();
    expect(data).toMatchObject({
      type: 'text',
      status: 'preparing',
      text_type: 'subtitles',
      text_source: 'uploaded',
      closed_captions: false,
      ...expected,
    });
    const { data: asset } = await (await api.call('GET', path.replace(/\/tracks$/, ''))).json();
    expect(asset.tracks.at(-1)).toEqual(data);
  });

  it('leaves settings of text out of audio', async () => {
    const body = { ...audio, closed_captions: 'x', passthrough: 'x'.repeat(256), text_type: 'subtitles' };
    const { data } = await (await api.call('POST', path, body)).json();
    const { id, ...rest } = data;
    expect(rest).toEqual({ type: 'audio', status: 'preparing', name: 'French', language_code: 'fr' });
  });

  it('gives a name to one of two that ask for it at once', async () => {
    const asked = Array.from({ length: 4 }, () => api.call('POST', path, { ...text, name: 'Once' }));
    expect((await Promise.all(asked)).map(({ status }) => status).sort()).toEqual([201, 400, 400, 400]);
  });
});

describe('PATCH …/tracks/{id} refuses', () => {
  it.each<[string, 'video' | 'audio' | 'text', object, string]>([
    ['the video', 'video', {}, 'Only text and audio tracks can be updated'],
    ['captions of audio', 'audio', { closed_captions: true }, 'closed_captions can only be set on text tracks'],
    ['a passthrough of audio', 'audio', { passthrough: '' }, 'passthrough can only be set on text tracks'],
    ['auto', 'text', { language_code: 'auto' }, 'language_code must be a valid BCP 47 language code'],
    ['a name of a wrong type', 'text', { name: {} }, 'name must be a string'],
    ['a long passthrough', 'text', { passthrough: `${LONG}x` }, 'passthrough must be at most 255 characters'],
  ])('%s', async (_, track, body, message) => {
    await refuse(await api.call('PATCH', `${path}/${ids[track]}`, body), message);
  });

  it('a name that another track of the group has', async () => {
    const { data } = await (await api.call('POST', path, { ...text, name: 'Other' })).json();
    const message = 'name must be unique among text tracks';
    await refuse(await api.call('PATCH', `${path}/${data.id}`, { name: 'French' }), message);
    expect((await api.call('PATCH', `${path}/${data.id}`, { name: 'Default' })).status).toBe(200);
  });

  it('what is not there', async () => {
    for (const at of [`${path}/${UNKNOWN}`, `${path}/x`, `/video/v1/assets/${UNKNOWN}/tracks/${ids.text}`])
      await notFound(await api.call('PATCH', at, { name: 1 }));
  });
});

describe('PATCH …/tracks/{id}', () => {
  it('changes what is given, clears with empty texts and tells of changes only', async () => {
    const at = `${path}/${ids.text}`;
    const patch = async (body: object) => (await (await api.call('PATCH', at, body)).json()).data;
    const first = await patch({});
    expect(first).toMatchObject({ name: 'French', language_code: 'fr', closed_captions: false, passthrough: 'p' });
    expect(await patch({ name: 'French', language_code: null })).toEqual(first);
    expect(await patch({ language_code: 'fr-CA', closed_captions: true })).toEqual({
      ...first,
      language_code: 'fr-CA',
      closed_captions: true,
    });
    const bare = await patch({ passthrough: '', name: '' });
    expect(bare).not.toHaveProperty('passthrough');
    expect(bare.name).toBe('French (Canada)');
    expect(
      (await (await api.call('PATCH', `${path}/${ids.audio}`, { name: 'Main', language_code: 'en' })).json()).data,
    ).toMatchObject({ name: 'Main', language_code: 'en', primary: true });
    const assetId = path.split('/')[4]!;
    const { data } = await (await api.call('GET', `/system/v1/events?object_id=${assetId}`)).json();
    const updates = data.filter(({ type }: { type: string }) => type === 'video.asset.updated');
    expect(updates).toHaveLength(3);
    expect(updates[0].data.tracks[1]).toMatchObject({ name: 'Main' });
  });
});

describe('DELETE …/tracks/{id}', () => {
  it('removes neither the video nor the main audio', async () => {
    await refuse(await api.call('DELETE', `${path}/${ids.video}`), 'The video track cannot be deleted');
    await refuse(await api.call('DELETE', `${path}/${ids.audio}`), 'The primary audio track cannot be deleted');
  });

  it('removes a track once', async () => {
    const at = `${path}/${ids.text}`;
    expect((await api.call('DELETE', at)).status).toBe(204);
    await notFound(await api.call('DELETE', at));
    await notFound(await api.call('PATCH', at, {}));
    await notFound(await api.call('DELETE', `${path}/x`));
    const { data } = await (await api.call('GET', `/system/v1/events?object_id=${ids.text}`)).json();
    expect(data).toMatchObject([
      {
        type: 'video.asset.track.deleted',
        object: { type: 'track', id: ids.text },
        data: { id: ids.text, asset_id: path.split('/')[4], status: 'deleted', name: 'French' },
      },
    ]);
  });
});

describe('POST …/tracks/{id}/generate-subtitles', () => {
  const generate = (body: unknown, track = ids.audio) => api.call('POST', `${path}/${track}/generate-subtitles`, body);

  it.each<[string, unknown, string[]]>([
    ['no body', undefined, ['generated_subtitles is required']],
    ['no entry', { generated_subtitles: [] }, ['generated_subtitles must contain at least one entry']],
    ['no list', { generated_subtitles: {} }, ['generated_subtitles must be an array']],
    [
      'another language',
      { generated_subtitles: [{ language_code: 'ja' }] },
      [`generated_subtitles[0].language_code must be one of: ${LANGUAGES}`],
    ],
    [
      'a long passthrough',
      { generated_subtitles: [{ passthrough: `${LONG}x` }] },
      ['generated_subtitles[0].passthrough must be at most 255 characters'],
    ],
    [
      'names that are taken',
      { generated_subtitles: [{ name: 'a' }, { name: 'French' }, { name: 'a' }] },
      [
        'generated_subtitles[1].name must be unique among text tracks',
        'generated_subtitles[2].name must be unique among text tracks',
      ],
    ],
  ])('refuses %s', async (_, body, messages) => {
    await refuse(await generate(body), ...messages);
  });

  it('refuses what is not audio, not ready or not there', async () => {
    const body = { generated_subtitles: [{}] };
    const message = 'Subtitles can only be generated from an audio track';
    for (const track of [ids.video, ids.text]) await refuse(await generate(body, track), message);
    const { data } = await (await api.call('POST', path, audio)).json();
    await refuse(await generate(body, data.id), 'The audio track is not ready');
    await notFound(await generate(body, UNKNOWN));
  });

  it('makes a track for each entry', async () => {
    const entries = [{}, { language_code: 'en' }, { language_code: 'auto' }, { name: 'Own', passthrough: 'x' }];
    const response = await generate({ generated_subtitles: entries });
    expect(response.status).toBe(201);
    const { data } = await response.json();
    const shared = { type: 'text', text_type: 'subtitles', text_source: 'generated_vod', status: 'preparing' };
    expect(data).toMatchObject([
      { ...shared, name: 'English (generated)', language_code: 'en', closed_captions: false },
      { ...shared, name: 'English (generated) (2)', language_code: 'en' },
      { ...shared, name: 'Auto-detected', language_code: 'auto' },
      { ...shared, name: 'Own', language_code: 'en', passthrough: 'x' },
    ]);
  });
});

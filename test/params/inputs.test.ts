import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError } from '../support/wire/expect-error.js';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const create = (inputs: unknown) => api.call('POST', '/video/v1/assets', { inputs });

const main = { url: 'https://media.example.org/talk.mov' };
const text = { url: 'https://media.example.org/a.vtt', type: 'text', text_type: 'subtitles', language_code: 'fr' };
const audio = { url: 'https://media.example.org/a.m4a', type: 'audio', language_code: 'fr' };
const image = { url: 'https://media.example.org/a.png' };
const overlay = (settings: object) => [main, { ...image, overlay_settings: settings }];
const LANGUAGES = 'en, es, it, pt, de, fr, pl, ru, nl, ca, tr, sv, uk, no, fi, sk, el, cs, hr, da, ro, bg, auto';
const emptyOverlay = Object.fromEntries(
  'vertical_align vertical_margin horizontal_align horizontal_margin width height opacity'
    .split(' ')
    .map((name) => [name, '']),
);
const ZEROS = 'A'.repeat(40);

const refused: [string, unknown, string[]][] = [
  ['an input that is no object', [main, 'x'], ['inputs[1] must be an object']],
  ['an input that is null', [null], ['inputs[0] must be an object']],
  ['no url in the first input', [{}], ['inputs[0].url is required']],
  ['no url in the second input', [main, { ...text, url: null }], ['inputs[1].url is required']],
  ['url of a wrong type', [{ url: 4 }], ['inputs[0].url must be a string']],
  ['an empty url', [{ url: '' }], ['inputs[0].url must be a valid URL']],
  ['a relative url', [{ url: '/walk.mp4' }], ['inputs[0].url must be a valid URL']],
  ['another scheme', [{ url: 'ftp://media.example.org/walk.mp4' }], ['inputs[0].url must be a valid URL']],
  ['a file', [{ url: 'file:///etc/passwd' }], ['inputs[0].url must be a valid URL']],
  ['a url without slashes', [{ url: 'https:walk.mp4' }], ['inputs[0].url must be a valid URL']],
  ['a url with a blank', [{ url: 'https://media.example.org/a b.mp4' }], ['inputs[0].url must be a valid URL']],
  ['a url without a host', [{ url: 'https://' }], ['inputs[0].url must be a valid URL']],
  ['something else than an asset', [{ url: 'mux://uploads/x' }], ['inputs[0].url must be a valid URL']],
  [
    'more generated subtitles than there can be',
    [{ ...main, generated_subtitles: Array(101).fill(0) }],
    ['inputs[0].generated_subtitles must contain at most 100 entries'],
  ],
  ['a text that is no url', 'nonsense', ['inputs[0].url must be a valid URL']],
  [
    'embedded tracks of another input',
    [main, { ...audio, embedded_tracks: true }],
    ['inputs[1].embedded_tracks is only allowed on the first input'],
  ],
  [
    'embedded tracks of a clip',
    [{ url: `mux://assets/${ZEROS}`, embedded_tracks: true }],
    ['inputs[0].embedded_tracks is not allowed when url refers to an asset'],
  ],
  [
    'embedded tracks of a wrong type',
    [{ ...main, embedded_tracks: 'yes' }],
    ['inputs[0].embedded_tracks must be a boolean'],
  ],
  ['type not known', [main, { ...image, type: 'image' }], ['inputs[1].type must be one of: video, audio, text']],
  [
    'text_type not known',
    [main, { ...text, text_type: 'chapters' }],
    ['inputs[1].text_type must be one of: subtitles'],
  ],
  [
    'text without text_type',
    [main, { ...text, text_type: undefined }],
    ['inputs[1].text_type is required for text tracks'],
  ],
  ['text without language', [main, { ...text, language_code: undefined }], ['inputs[1].language_code is required']],
  ['audio without language', [main, { ...audio, language_code: undefined }], ['inputs[1].language_code is required']],
  [
    'language not well-formed',
    [main, { ...text, language_code: 'en_US' }],
    ['inputs[1].language_code must be a valid BCP 47 language code'],
  ],
  [
    'auto as a language',
    [main, { ...audio, language_code: 'auto' }],
    ['inputs[1].language_code must be a valid BCP 47 language code'],
  ],
  [
    'language of the first input',
    [{ ...main, language_code: 'x' }],
    ['inputs[0].language_code must be a valid BCP 47 language code'],
  ],
  [
    'the same name for two text tracks',
    [main, { ...text, name: 'A' }, { ...text, name: 'A' }],
    ['inputs[2].name must be unique among text tracks'],
  ],
  [
    'the same name for two audio tracks',
    [main, { ...audio, name: 'A' }, { ...text, name: 'A' }, { ...audio, name: 'A' }],
    ['inputs[3].name must be unique among audio tracks'],
  ],
  [
    'the name of the audio in the first input again',
    [
      { ...main, name: 'A' },
      { ...audio, name: 'A' },
    ],
    ['inputs[1].name must be unique among audio tracks'],
  ],
  [
    'the name of generated subtitles again',
    [
      { ...main, generated_subtitles: [{ name: 'A' }] },
      { ...text, name: 'A' },
    ],
    ['inputs[1].name must be unique among text tracks'],
  ],
  [
    'the same name for two generated subtitles',
    [{ ...main, generated_subtitles: [{ name: 'A' }, { name: 'A' }] }],
    ['inputs[0].generated_subtitles[1].name must be unique among text tracks'],
  ],
  ['text_type without type', [main, { ...text, type: undefined }], ['inputs[1].type is required']],
  ['closed_captions without type', [main, { ...image, closed_captions: false }], ['inputs[1].type is required']],
  [
    'the same name for two audio tracks, one of them without type',
    [main, { ...audio, name: 'A' }, { ...audio, type: undefined, name: 'A' }],
    ['inputs[2].name must be unique among audio tracks'],
  ],
  [
    'a second video, which empty overlay settings do not make an overlay',
    [main, { ...main, type: 'video', overlay_settings: {} }],
    ['inputs[1].type video is only allowed for the first input'],
  ],
  [
    'a second video, which unknown overlay settings do not make an overlay',
    [main, { ...main, type: 'video', overlay_settings: { foo: 'x', toString: 'x' } }],
    ['inputs[1].type video is only allowed for the first input'],
  ],
  ['name of a wrong type', [{ ...main, name: 1 }], ['inputs[0].name must be a string']],
  ['text as the first input', [text], ['inputs[0].type must be video or audio']],
  ['a second video', [main, { ...main, type: 'video' }], ['inputs[1].type video is only allowed for the first input']],
  [
    'passthrough too long',
    [main, { ...text, passthrough: 'a'.repeat(256) }],
    ['inputs[1].passthrough must be at most 255 characters'],
  ],
  [
    'closed_captions not boolean',
    [main, { ...text, closed_captions: 'no' }],
    ['inputs[1].closed_captions must be a boolean'],
  ],
  [
    'overlay settings of a wrong type',
    [main, { ...image, overlay_settings: 'x' }],
    ['inputs[1].overlay_settings must be an object'],
  ],
  ...[[], '', 1].map((given): [string, unknown, string[]] => [
    `overlay settings of a wrong type on the first input: ${JSON.stringify(given)}`,
    [{ ...main, overlay_settings: given }],
    ['inputs[0].overlay_settings must be an object'],
  ]),
  [
    'vertical_align',
    overlay({ vertical_align: 'center' }),
    ['inputs[1].overlay_settings.vertical_align must be one of: top, middle, bottom'],
  ],
  [
    'horizontal_align',
    overlay({ horizontal_align: 'top' }),
    ['inputs[1].overlay_settings.horizontal_align must be one of: left, center, right'],
  ],
  ...['vertical_margin', 'horizontal_margin', 'width', 'height'].map((name): [string, unknown, string[]] => [
    `${name} without a unit`,
    overlay({ [name]: '10' }),
    [`inputs[1].overlay_settings.${name} must be a percentage or pixel value`],
  ]),
  ['width as a number', overlay({ width: 10 }), ['inputs[1].overlay_settings.width must be a string']],
  [
    'width in another unit',
    overlay({ width: '10em' }),
    ['inputs[1].overlay_settings.width must be a percentage or pixel value'],
  ],
  ['width 0', overlay({ width: '0px' }), ['inputs[1].overlay_settings.width must be greater than 0']],
  ['height below 0', overlay({ height: '-1%' }), ['inputs[1].overlay_settings.height must be greater than 0']],
  ...['101%', '-1%', '50px', '0.5'].map((opacity): [string, unknown, string[]] => [
    `opacity ${opacity}`,
    overlay({ opacity }),
    ['inputs[1].overlay_settings.opacity must be a percentage between 0% and 100%'],
  ]),
  [
    'overlay settings on the first input',
    [{ ...main, overlay_settings: { width: '10%' } }],
    ['inputs[0].overlay_settings is not allowed on the main input'],
  ],
  [
    'language of generated subtitles',
    [{ ...main, generated_subtitles: [{ language_code: 'ja' }] }],
    [`inputs[0].generated_subtitles[0].language_code must be one of: ${LANGUAGES}`],
  ],
  [
    'passthrough of generated subtitles',
    [{ ...main, generated_subtitles: [{ passthrough: 'a'.repeat(256) }] }],
    ['inputs[0].generated_subtitles[0].passthrough must be at most 255 characters'],
  ],
  [
    'generated subtitles of a wrong type',
    [{ ...main, generated_subtitles: {} }],
    ['inputs[0].generated_subtitles must be an array'],
  ],
  [
    'generated subtitles on text',
    [main, { ...text, generated_subtitles: [{}] }],
    ['inputs[1].generated_subtitles is only allowed on audio or video inputs'],
  ],
  [
    'generated subtitles on an overlay',
    [main, { ...image, overlay_settings: { width: '10%' }, generated_subtitles: [{}] }],
    ['inputs[1].generated_subtitles is only allowed on audio or video inputs'],
  ],
  [
    'start_time with an ordinary url',
    [{ ...main, start_time: 1 }],
    ['inputs[0].start_time is only allowed when url refers to an asset'],
  ],
  [
    'end_time with an ordinary url',
    [{ ...main, end_time: 1 }],
    ['inputs[0].end_time is only allowed when url refers to an asset'],
  ],
  ['too many inputs', Array(101).fill(main), ['inputs must contain at most 100 entries']],
  [
    'several problems in body order, the missing ones first',
    [
      { ...main, type: 'x' },
      { type: 'text', name: 5, language_code: 'english' },
    ],
    [
      'inputs[0].type must be one of: video, audio, text',
      'inputs[1].url is required',
      'inputs[1].text_type is required for text tracks',
      'inputs[1].name must be a string',
      'inputs[1].language_code must be a valid BCP 47 language code',
    ],
  ],
];

describe('inputs are refused for', () => {
  it.each(refused)('%s', async (_, inputs, messages) => {
    await expectError(await create(inputs), 400, 'invalid_parameters', messages);
  });

  it('nothing when an image is laid over the video, with or without settings', async () => {
    const settings = { width: '12%', opacity: '75%', vertical_margin: '-4.5px', height: '' };
    for (const inputs of [overlay(settings), [main, image]]) expect((await create(inputs)).status).toBe(201);
  });

  it('a problem under the deprecated name, which the message then uses', async () => {
    const response = await api.call('POST', '/video/v1/assets', { input: [{}] });
    await expectError(response, 400, 'invalid_parameters', ['input[0].url is required']);
  });
});

describe('inputs are accepted with', () => {
  it.each<[string, unknown]>([
    ['credentials, port and query', [{ url: 'http://user:secret@media.example.org:8080/a.mp4?x=1#y' }]],
    ['settings of the muxed audio', [{ ...main, type: 'video', name: 'Original', language_code: 'en-US' }]],
    ['audio as the first input', [{ ...main, type: 'audio' }]],
    ['ignored settings of text tracks', [{ ...main, closed_captions: 'x', passthrough: 'a'.repeat(256) }]],
    ['audio that is known by its language', [main, { ...audio, type: undefined, generated_subtitles: [{}] }]],
    ['empty overlay settings', [main, text, audio, image].map((input) => ({ ...input, overlay_settings: {} }))],
    ['unknown overlay settings', [main, text, audio].map((input) => ({ ...input, overlay_settings: { foo: 'x' } }))],
    [
      'audio that is known by its language, with unknown overlay settings',
      // On an overlay generated subtitles would be refused.
      [main, { ...audio, type: undefined, generated_subtitles: [{}], overlay_settings: { foo: 'x' } }],
    ],
    ['empty values in overlay settings', [{ ...main, overlay_settings: { width: '', opacity: '', height: null } }]],
    ['nothing but empty values in overlay settings of text', [main, { ...text, overlay_settings: emptyOverlay }]],
    ['nothing but empty values in overlay settings of audio', [main, { ...audio, overlay_settings: emptyOverlay }]],
    ['no generated subtitles', [{ ...main, generated_subtitles: [] }]],
    ['subtitles, alternate audio and subtitles to be generated', [{ ...main, generated_subtitles: [{}] }, text, audio]],
  ])('%s', async (_, inputs) => {
    expect((await create(inputs)).status).toBe(201);
  });
});

describe('a clip', () => {
  let sourceId: string;
  let preparingId: string;
  beforeAll(async () => {
    const make = async () => (await (await create([main])).json()).data.id;
    [sourceId, preparingId] = [await make(), await make()];
    await api.makeReady(sourceId, 10);
  });

  const clip = (fields: object) => [{ url: `mux://assets/${sourceId}`, ...fields }];

  it('of an unknown, a malformed or a foreign source is refused', async () => {
    const messages = ['inputs[0].url does not refer to an existing asset'];
    await expectError(await create([{ url: `mux://assets/${ZEROS}` }]), 400, 'invalid_parameters', messages);
    await expectError(await create([{ url: 'mux://assets/x' }]), 400, 'invalid_parameters', messages);
    const environment = await api.newEnvironment('Clips');
    const other = await api.newToken({ name: 'other', environmentId: environment.id });
    const response = await api.callAs(other, 'POST', '/video/v1/assets', { inputs: clip({}) });
    await expectError(response, 400, 'invalid_parameters', messages);
  });

  it('of a source that is not ready is refused', async () => {
    const response = await create([{ url: `mux://assets/${preparingId}` }]);
    await expectError(response, 400, 'invalid_parameters', ['inputs[0].url refers to an asset that is not ready']);
  });

  it.each<[object, string]>([
    [{ start_time: -1 }, 'inputs[0].start_time must be a number greater than or equal to 0'],
    [{ start_time: '1' }, 'inputs[0].start_time must be a number greater than or equal to 0'],
    [{ end_time: -1 }, 'inputs[0].end_time must be a number greater than or equal to 0'],
    [{ start_time: 4, end_time: 3 }, 'inputs[0] clip must be at least 0.5 seconds long'],
    [{ start_time: 4, end_time: 4.4 }, 'inputs[0] clip must be at least 0.5 seconds long'],
    [{ end_time: 0.25 }, 'inputs[0] clip must be at least 0.5 seconds long'],
    [{ start_time: 9.75 }, 'inputs[0] clip must be at least 0.5 seconds long'],
    [{ start_time: 9.75, end_time: 99 }, 'inputs[0] clip must be at least 0.5 seconds long'],
    [{ start_time: 10 }, 'inputs[0].start_time is beyond the end of the source asset'],
    [{ start_time: 0.2, end_time: 0.6999 }, 'inputs[0] clip must be at least 0.5 seconds long'],
  ])('%o is answered', async (fields, message) => {
    await expectError(await create(clip(fields)), 400, 'invalid_parameters', [message]);
  });

  it('is only possible as the first input', async () => {
    const response = await create([main, ...clip({})]);
    await expectError(response, 400, 'invalid_parameters', ['inputs[1].url cannot refer to an asset']);
  });
});

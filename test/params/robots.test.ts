import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';

let api: Api;
let readyId: string;
let preparingId: string;
beforeAll(async () => {
  api = await startApi();
  const create = async () =>
    (await (await api.call('POST', '/video/v1/assets', { input: 'https://media.example.org/a.mp4' })).json()).data.id;
  readyId = await create();
  preparingId = await create();
  await api.makeReady(readyId, 20);
});
afterAll(() => api?.stop());

const DIRECTIVES = '/robots/v0/directives';
const JOBS = '/robots/v0/jobs';
const subject = { type: 'video.asset' };
const sum = { reference_id: 'sum', workflow: 'summarize' };
const track = { reference_id: 'en', type: 'video.asset.track', kind: 'caption' };
const base = { name: 'n', subject, workflows: [sum] };
const via = (source: object, more: object = {}) => ({ ...base, resources: [{ ...track, ...more, source }] });
const action = (name: string, params?: object, more: object = {}) =>
  via({ via: 'mux_api', action: name, ...(params && { params }) }, more);

const expectRobotsError = async (answer: Response, status: number, type: string, message: string) => {
  expect([answer.status, await answer.json()]).toEqual([status, { error: { type, message } }]);
};

const refusedDirectives: [string, unknown, string][] = [
  ['nothing', undefined, 'name is required; subject is required; workflows is required'],
  ['a list', [], 'Request body must be a JSON object'],
  ['no name', { subject, workflows: [sum] }, 'name is required'],
  ['an empty name', { ...base, name: '' }, 'name must not be empty'],
  ['a long name', { ...base, name: 'x'.repeat(256) }, 'name must be at most 255 characters'],
  ['no subject', { name: 'n', workflows: [sum] }, 'subject is required'],
  [
    'a live stream',
    { ...base, subject: { type: 'video.live_stream' } },
    'subject.type video.live_stream is not supported',
  ],
  [
    'another subject',
    { ...base, subject: { type: 'x' } },
    'subject.type must be one of: video.asset, video.live_stream',
  ],
  ['no workflows', { name: 'n', subject }, 'workflows is required'],
  ['empty workflows', { ...base, workflows: [] }, 'workflows must contain at least one entry'],
  ['workflows of a wrong type', { ...base, workflows: {} }, 'workflows must be an array'],
  ['a workflow of a wrong type', { ...base, workflows: [1] }, 'workflows[0] must be an object'],
  [
    'too many workflows',
    { ...base, workflows: Array.from({ length: 51 }, (_, at) => ({ ...sum, reference_id: `w${at}` })) },
    'workflows must contain at most 50 entries',
  ],
  [
    'too many resources',
    { ...base, resources: Array.from({ length: 51 }, (_, at) => ({ ...track, reference_id: `r${at}` })) },
    'resources must contain at most 50 entries',
  ],
  ['a name twice', { ...base, workflows: [sum, sum] }, 'reference_id must be unique: sum'],
  [
    'a resource named as a workflow',
    { ...base, resources: [{ ...track, reference_id: 'sum' }] },
    'reference_id must be unique: sum',
  ],
  ['no reference', { ...base, workflows: [{ workflow: 'summarize' }] }, 'workflows[0].reference_id is required'],
  ['an unknown input', { ...base, workflows: [{ ...sum, inputs: ['x'] }] }, 'unknown reference_id: x'],
  [
    'a workflow as an input',
    { ...base, workflows: [sum, { ...sum, reference_id: 'b', inputs: ['sum'] }] },
    'unknown reference_id: sum',
  ],
  ['an unknown binding', via({ via: 'workflow', binding: 'x' }), 'unknown reference_id: x'],
  ['no binding', via({ via: 'workflow' }), 'resources[0].source.binding is required'],
  [
    'a circle',
    { ...via({ via: 'workflow', binding: 'sum' }), workflows: [{ ...sum, inputs: ['en'] }] },
    'workflows contain a dependency cycle',
  ],
  [
    'an unknown workflow',
    { ...base, workflows: [{ ...sum, workflow: 'sing' }] },
    'workflows[0].workflow must be one of: ask-questions, edit-captions, find-best-thumbnails, find-key-moments, find-scenes, generate-chapters, generate-engagement-insights, generate-premium-captions, moderate, summarize, translate-audio, translate-captions',
  ],
  [
    'an unknown type',
    { ...base, resources: [{ ...track, type: 'x' }] },
    'resources[0].type must be one of: video.asset.track, video.asset.shots',
  ],
  [
    'an unknown kind',
    { ...base, resources: [{ ...track, kind: 'x' }] },
    'resources[0].kind must be one of: caption, audio',
  ],
  [
    'a track without kind',
    { ...base, resources: [{ reference_id: 'en', type: 'video.asset.track' }] },
    'resources[0].kind is required',
  ],
  [
    'an unknown via',
    via({ via: 'x' }),
    'resources[0].source.via must be one of: external, required, workflow, mux_api',
  ],
  ['no action', via({ via: 'mux_api' }), 'resources[0].source.action is required'],
  [
    'an unknown action',
    action('x'),
    'resources[0].source.action must be one of: generate_subtitles, create_track, request_shots',
  ],
  [
    'an action for something else',
    action('request_shots'),
    'resources[0].source.action request_shots does not make this resource',
  ],
  [
    'a track of another kind',
    action('generate_subtitles', {}, { kind: 'audio' }),
    'resources[0].source.action generate_subtitles does not make this resource',
  ],
  [
    'no url',
    action('create_track', { type: 'text', language_code: 'en' }),
    'resources[0].source.params.url is required',
  ],
  [
    'a bad url',
    action('create_track', { type: 'text', language_code: 'en', url: 'x' }),
    'resources[0].source.params.url must be a valid URL',
  ],
  [
    'a bad language',
    { ...base, resources: [{ ...track, language: 'english' }] },
    'resources[0].language must be a valid BCP 47 language code',
  ],
  [
    'bad params',
    { ...base, workflows: [{ ...sum, params: { tone: 'loud' } }] },
    'workflows[0].params.tone must be one of: neutral, playful, professional',
  ],
  [
    'missing params',
    { ...base, workflows: [{ reference_id: 'q', workflow: 'ask-questions' }] },
    'workflows[0].params.questions is required',
  ],
  [
    'NUL in params',
    { ...base, workflows: [{ ...sum, params: { output_steering: { a: ['\0'] } } }] },
    'workflows[0].params must be valid Unicode text without NUL',
  ],
];

describe('a directive', () => {
  it.each(refusedDirectives)('is not made of %s', async (_, body, message) => {
    await expectRobotsError(await api.call('POST', DIRECTIVES, body), 400, 'invalid_parameters', message);
  });

  it('is shown as it was declared, without what is not known', async () => {
    const { directives } = api.sdk().robots;
    const resources = [
      {
        ...track,
        language: 'en',
        source: { via: 'mux_api' as const, action: 'generate_subtitles' as const, params: { language_code: 'en' } },
      },
      { reference_id: 'shots', type: 'video.asset.shots' as const },
    ];
    const workflows = [
      { reference_id: 'sum', workflow: 'summarize' as const, inputs: ['en'], params: { tone: 'neutral' as const } },
    ];
    const body = { name: 'A', subject: { type: 'video.asset' as const }, resources: resources as never, workflows };
    const made = await directives.create({ ...body, more: 1 } as never);
    expect(made).toEqual({
      ...body,
      id: expect.stringMatching(/^drv_\w{24}$/),
      created_at: expect.any(Number),
      updated_at: made.created_at,
    });
    expect(await directives.retrieve(made.id)).toEqual(made);
    const list = await (await api.call('GET', `${DIRECTIVES}?limit=1`)).json();
    expect(list).toEqual({ data: [made], total_row_count: expect.any(Number) });
    expect(await directives.delete(made.id)).toBeNull();
    for (const [method, path, sent] of [
      ['GET', '', undefined],
      ['DELETE', '', undefined],
      ['GET', '/runs', undefined],
      ['POST', '/runs', { asset_id: readyId }],
      ['GET', '/runs/drvrun_x', undefined],
    ] as const)
      await expectRobotsError(
        await api.call(method, `${DIRECTIVES}/${made.id}${path}`, sent),
        404,
        'not_found',
        'Directive not found',
      );
  });

  it('of another environment is not found', async () => {
    const { id } = await api.sdk().robots.directives.create(base as never);
    const { id: environmentId } = await api.newEnvironment('Others');
    const foreign = await api.newToken({ name: 'foreign', environmentId });
    await expectRobotsError(
      await api.callAs(foreign, 'GET', `${DIRECTIVES}/${id}`),
      404,
      'not_found',
      'Directive not found',
    );
    const body = { input: 'https://media.example.org/a.mp4', directives: [{ id }] };
    const refused = await api.callAs(foreign, 'POST', '/video/v1/assets', body);
    expect((await refused.json()).error.messages).toEqual(['directives[0].id does not refer to an existing directive']);
    const made = await (await api.call('POST', '/video/v1/assets', body)).json();
    expect(made.data.directives).toEqual([{ id }]);
    expect((await api.call('POST', '/video/v1/uploads', { new_asset_settings: { directives: [{ id }] } })).status).toBe(
      201,
    );
  });

  it('runs on an asset that is there', async () => {
    const { id } = await api.sdk().robots.directives.create(base as never);
    const runs = `${DIRECTIVES}/${id}/runs`;
    const refuse = async (body: unknown, status: number, type: string, message: string) =>
      expectRobotsError(await api.call('POST', runs, body), status, type, message);
    await refuse({}, 400, 'invalid_parameters', 'asset_id is required');
    await refuse({ asset_id: 1 }, 400, 'invalid_parameters', 'asset_id must be a string');
    await refuse({ asset_id: 'x' }, 404, 'not_found', 'Asset not found');
    for (const assetId of [readyId, preparingId]) {
      const made = await (await api.call('POST', runs, { asset_id: assetId })).json();
      expect(made.data).toEqual({
        run_id: expect.stringMatching(/^drvrun_\w{24}$/),
        status: 'pending',
        subject_id: assetId,
      });
    }
    const list = await (await api.call('GET', `${runs}?limit=1&page=2`)).json();
    expect(list).toMatchObject({
      data: [{ subject_id: readyId, status: 'pending', completed_at: null }],
      total_row_count: 2,
    });
    await expectRobotsError(
      await api.call('GET', `${runs}/drvrun_${'x'.repeat(24)}`),
      404,
      'not_found',
      'Run not found',
    );
  });
});

const refusedJobs: [string, object, string][] = [
  ['summarize', { tone: 1 }, 'parameters.tone must be a string'],
  ['summarize', { tag_count: 0 }, 'parameters.tag_count must be between 1 and 100'],
  ['summarize', { output_steering: 1 }, 'parameters.output_steering must be an object'],
  ['summarize', { output_steering: { scope: 1 } }, 'parameters.output_steering.scope must be an object'],
  [
    'summarize',
    { output_steering: { scope: { start_time: -1 } } },
    'parameters.output_steering.scope.start_time must be a number greater than or equal to 0',
  ],
  [
    'summarize',
    { output_steering: { scope: { start_time: 2, end_time: 2 } } },
    'parameters.output_steering.scope.end_time must be greater than start_time',
  ],
  ['ask-questions', {}, 'parameters.questions is required'],
  ['ask-questions', { questions: [] }, 'parameters.questions must contain at least one entry'],
  [
    'ask-questions',
    { questions: Array(51).fill({ question: 'a' }) },
    'parameters.questions must contain at most 50 entries',
  ],
  [
    'ask-questions',
    { questions: [{ question: 'x'.repeat(601) }] },
    'parameters.questions[0].question must be at most 600 characters',
  ],
  [
    'ask-questions',
    { questions: [{ question: 'a', answer_options: ['x'.repeat(151)] }] },
    'parameters.questions[0].answer_options[0] must be at most 150 characters',
  ],
  [
    'ask-questions',
    { questions: [{ question: 'a', answer_options: ['b'], free_form_reply: true }] },
    'parameters.questions[0].answer_options and parameters.questions[0].free_form_reply cannot be used together',
  ],
  [
    'ask-questions',
    { questions: [{ question: 'a' }], max_free_form_answer_length: 1001 },
    'parameters.max_free_form_answer_length must be between 1 and 1000',
  ],
  ['moderate', { sampling_interval: 4 }, 'parameters.sampling_interval must be a number greater than or equal to 5'],
  ['moderate', { thresholds: { sexual: 2 } }, 'parameters.thresholds.sexual must be between 0 and 1'],
  ['moderate', { on_flagged: { action: 'x' } }, 'parameters.on_flagged.action must be one of: delete_playback_ids'],
  ['find-best-thumbnails', { max_thumbnails: 6 }, 'parameters.max_thumbnails must be between 1 and 5'],
  [
    'find-key-moments',
    { target_duration_ms: { min: 5, max: 4 } },
    'parameters.target_duration_ms.max must be greater than or equal to min',
  ],
  ['find-key-moments', { target_duration_ms: { min: 5 } }, 'parameters.target_duration_ms.max is required'],
  ['edit-captions', {}, 'parameters.track_id is required'],
  [
    'edit-captions',
    { track_id: 't', replacements: [{ find: '' }] },
    'parameters.replacements[0].replace is required; parameters.replacements[0].find must not be empty',
  ],
  [
    'edit-captions',
    { track_id: 't', auto_censor_profanity: { mode: 'x' } },
    'parameters.auto_censor_profanity.mode must be one of: blank, remove, mask',
  ],
  ['edit-captions', { track_id: 't' }, 'parameters.track_id does not refer to a ready text track'],
  ['translate-captions', { track_id: 't' }, 'parameters.to_language_code is required'],
  [
    'translate-captions',
    { track_id: 't', to_language_code: 'fr', never_translate: ['<b>'] },
    'parameters.never_translate[0] must be visible text without < and >',
  ],
  [
    'translate-audio',
    { to_language_code: 'french' },
    'parameters.to_language_code must be a valid BCP 47 language code',
  ],
  [
    'generate-premium-captions',
    { upload_to_mux: false, replace_existing: true },
    'parameters.replace_existing needs upload_to_mux',
  ],
  [
    'generate-premium-captions',
    { phrases: ['a b c d e f'] },
    'parameters.phrases[0] must have at most 49 characters and 5 words, without < > { } [ ] \\',
  ],
  [
    'generate-premium-captions',
    { phrases: ['a[b'] },
    'parameters.phrases[0] must have at most 49 characters and 5 words, without < > { } [ ] \\',
  ],
];

describe('a job', () => {
  it.each(refusedJobs)('of %s is not made with %j', async (workflow, parameters, message) => {
    const body = { parameters: { asset_id: readyId, ...parameters } };
    await expectRobotsError(await api.call('POST', `${JOBS}/${workflow}`, body), 400, 'invalid_parameters', message);
  });

  it.each<[string, unknown, number, string, string]>([
    ['nothing', undefined, 400, 'invalid_parameters', 'parameters.asset_id is required'],
    ['empty parameters', { parameters: {} }, 400, 'invalid_parameters', 'parameters.asset_id is required'],
    ['parameters of a wrong type', { parameters: 1 }, 400, 'invalid_parameters', 'parameters must be an object'],
    ['an unknown asset', { parameters: { asset_id: 'x' } }, 404, 'not_found', 'Asset not found'],
  ])('is not made of %s', async (_, body, status, type, message) => {
    await expectRobotsError(await api.call('POST', `${JOBS}/summarize`, body), status, type, message);
  });

  it('is not made with a long passthrough, nor on an asset that is preparing', async () => {
    const make = (assetId: string, passthrough: string) =>
      api.call('POST', `${JOBS}/summarize`, { parameters: { asset_id: assetId }, passthrough });
    await expectRobotsError(
      await make(readyId, 'x'.repeat(256)),
      400,
      'invalid_parameters',
      'passthrough must be at most 255 characters',
    );
    await expectRobotsError(await make(preparingId, ''), 400, 'invalid_parameters', 'Asset is not ready');
  });

  it.each([
    ['POST', 'sing'],
    ['POST', 'summarize-x'],
    ['GET', 'sing'],
    ['DELETE', 'sing'],
    ['GET', `sing/rjob_${'x'.repeat(24)}`],
  ])('of an unknown workflow is an unknown path, whoever asks: %s %s', async (method, path) => {
    for (const token of [api.token, undefined]) {
      const body = method === 'POST' ? {} : undefined;
      const answer = await api.callAs(token, method, `${JOBS}/${path}`, body);
      expect([answer.status, await answer.json()]).toEqual([
        404,
        {
          error: {
            type: 'not_found',
            messages: [`There is no operation ${method} ${JOBS}/${path}. See /docs for all operations.`],
          },
        },
      ]);
    }
  });

  it.each([
    ['GET', 'summarize', 'POST'],
    ['GET', 'rjob_x/cancel', 'POST'],
    ['POST', 'summarize/rjob_x', 'GET, HEAD'],
  ])('has methods of its own: %s %s', async (method, path, allow) => {
    const answer = await api.call(method, `${JOBS}/${path}`);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
  });

  it('is made once, listed, read under its workflow, and cancelled once', async () => {
    const { jobs } = api.sdk().robots;
    const parameters = { asset_id: readyId, tone: 'playful' as const };
    const made = await jobs.summarize.create({ parameters, passthrough: 'p' });
    const again = await api.call('POST', `${JOBS}/summarize`, { parameters: { tone: 'playful', asset_id: readyId } });
    expect(again.headers.get('x-should-retry')).toBe('false');
    await expectRobotsError(again, 409, 'conflict', 'An equivalent job is already in progress');
    expect(await jobs.summarize.retrieve(made.id)).toEqual(made);
    await expectRobotsError(await api.call('GET', `${JOBS}/moderate/${made.id}`), 404, 'not_found', 'Job not found');
    const list = await (await api.call('GET', `${JOBS}?workflow=summarize&status=pending&asset_id=${readyId}`)).json();
    expect(list).toEqual({
      data: [
        {
          id: made.id,
          workflow: 'summarize',
          status: 'pending',
          created_at: made.created_at,
          updated_at: made.updated_at,
          _links: { self: { href: `${api.origin}${JOBS}/summarize/${made.id}` } },
        },
      ],
      total_row_count: 1,
    });
    expect((await jobs.list({ asset_id: preparingId })).data).toEqual([]);
    expect(await jobs.cancel(made.id)).toMatchObject({ id: made.id, status: 'cancelled' });
    const ended = await api.call('POST', `${JOBS}/${made.id}/cancel`);
    expect(ended.headers.get('x-should-retry')).toBe('false');
    await expectRobotsError(ended, 409, 'conflict', 'Job is already in a terminal state');
    for (const id of ['x', '%00', `rjob_${'x'.repeat(24)}`])
      await expectRobotsError(await api.call('POST', `${JOBS}/${id}/cancel`), 404, 'not_found', 'Job not found');
  });

  it.each([
    ['status=done', 'status must be one of: pending, processing, completed, errored, cancelled'],
    ['limit=x', 'limit must be a positive integer'],
    ['workflow=sing', expect.stringMatching(/^workflow must be one of: ask-questions, /)],
  ])('is not looked for with %s', async (query, message) => {
    await expectRobotsError(await api.call('GET', `${JOBS}?${query}`), 400, 'invalid_parameters', message);
  });
});

describe('permissions', () => {
  it('of robots or of video are enough', async () => {
    for (const [permission, status] of [
      ['robots:read', 200],
      ['video:read', 200],
      ['system:read', 403],
    ] as const) {
      const token = await api.newToken({ name: permission, permissions: [permission] });
      const answer = await api.callAs(token, 'GET', JOBS);
      if (status === 200) expect(answer.status).toBe(200);
      else await expectRobotsError(answer, 403, 'forbidden', 'Forbidden');
    }
    const reader = await api.newToken({ name: 'reader', permissions: ['robots:read'] });
    await expectRobotsError(await api.callAs(reader, 'POST', `${JOBS}/rjob_x/cancel`), 403, 'forbidden', 'Forbidden');
    const anonymous = await api.callAs(undefined, 'GET', JOBS);
    expect([anonymous.status, await anonymous.json()]).toEqual([
      401,
      { error: { type: 'unauthorized', messages: ['Unauthorized request'] } },
    ]);
  });
});

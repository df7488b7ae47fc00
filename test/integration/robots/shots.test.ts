import { readFile } from 'node:fs/promises';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { oneAfterAnother, scenes, writeScenes } from '../../support/media/scenes.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type Asked, type Script, startChatProvider } from '../../support/servers/chat-provider.js';
import { until } from '../../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { createAsset, settled } from '../../support/wire/create-asset.js';

const CAPTIONS = `WEBVTT

00:00.000 --> 00:01.500
Welcome

00:01.500 --> 00:03.000
The harbour is full of boats

00:03.600 --> 00:05.000
Goodbye Kinora
`;

let origin: SlowOrigin;
let provider: Awaited<ReturnType<typeof startChatProvider>>;
let answers: Record<string, (asked: Asked) => Script> = {};
let withCaptions: string;
let silent: string;
let server: Booted;
const connect = ({ url, token }: Booted) =>
  new Mux({ baseURL: url, tokenId: token.id, tokenSecret: token.secret, maxRetries: 0 });
const create = async (on: Booted, hasText: boolean) => {
  const text = { type: 'text', text_type: 'subtitles', language_code: 'en', name: 'English' };
  const inputs = [{ url: `${origin.url}/video.mp4` }, { url: `${origin.url}/en.vtt`, ...text }];
  const { id } = await createAsset(on, { inputs: hasText ? inputs : inputs.slice(0, 1) });
  await settled(on, id);
  return id;
};
beforeAll(async () => {
  origin = await startSlowOrigin();
  // Cuts at 2.5 and 3.5 seconds.
  const path = writeScenes(oneAfterAnother(scenes.chart(2.5), scenes.fractal(1), scenes.bars(3)));
  origin.add('video.mp4', await readFile(path));
  origin.add('en.vtt', Buffer.from(CAPTIONS));
  provider = await startChatProvider((asked) => answers[asked.prompt]?.(asked) ?? { status: 400 });
  server = await boot({ options: { AI_URL: provider.url, AI_MODEL: 'reader', AI_VISION_MODEL: 'seer' } });
  withCaptions = await create(server, true);
  silent = await create(server, false);
});
afterAll(async () => {
  await server?.stop();
  await provider?.stop();
  await origin?.stop();
});
beforeEach(() => {
  provider.asked.length = 0;
  answers = {
    describe_frames: () => ({ visual_narrative: 'Bars.', notable_visual_concepts: [] }),
  };
});

const seen = { visual_narrative: 'Bars.', notable_visual_concepts: [] };
const findMoments = async (parameters: Mux.Robots.Jobs.FindKeyMomentsJobParameters, on = server) => {
  const { findKeyMoments } = connect(on).robots.jobs;
  const { id } = await findKeyMoments.create({ parameters });
  await until('the end of the job', async () => !/^p/.test((await findKeyMoments.retrieve(id)).status));
  return findKeyMoments.retrieve(id);
};

test('key moments are rows of captions', async () => {
  const best = {
    first_line: 1,
    last_line: 2,
    title: 'Boats',
    overall_score: 0.8,
    audible_narrative: 'Boats.',
    notable_audible_concepts: ['full of boats'],
    quote: 'full of boats',
  };
  const worse = { ...best, first_line: 2, overall_score: 0.1 };
  answers.find_key_moments = () => ({ moments: [worse, best] });
  const job = await findMoments({ asset_id: withCaptions });
  expect(job.errors).toBeUndefined();
  expect(job.outputs!.moments).toEqual([
    {
      start_ms: 1500,
      end_ms: 5000,
      title: 'Boats',
      overall_score: 0.8,
      audible_narrative: 'Boats.',
      notable_audible_concepts: ['full of boats'],
      cues: [
        { start_ms: 1500, end_ms: 3000, text: 'The harbour is full of boats' },
        { start_ms: 3600, end_ms: 5000, text: 'Goodbye Kinora' },
      ],
      quotable_segment: { start_ms: 1500, text: 'full of boats' },
      ...seen,
    },
  ]);
  expect((await findMoments({ asset_id: silent })).errors).toEqual([
    { type: 'invalid_input', message: 'The asset has no ready text track.', retryable: false },
  ]);
});

test('with use_shots key moments are rows of shots, and captions are not needed', async () => {
  const said = { audible_narrative: 'Goodbye.', notable_audible_concepts: ['a goodbye'], quote: 'Goodbye Kinora' };
  answers.find_moments_in_shots = () => ({
    moments: [
      { first_shot: 2, last_shot: 2, title: 'Bars', overall_score: 0.9, ...said },
      { first_shot: 0, last_shot: 1, title: 'Chart', overall_score: 0.4 },
    ],
  });
  const target = { min: 1000, max: 4000 };
  const heard = await findMoments({ asset_id: withCaptions, use_shots: true, target_duration_ms: target });
  expect(heard.errors).toBeUndefined();
  const [asked] = provider.asked;
  expect(asked).toMatchObject({ prompt: 'find_moments_in_shots', model: 'seer', images: { length: 3 } });
  expect(asked!.text).toContain('A moment lasts 1 to 4 seconds.');
  expect(asked!.text).toContain('2: 3.5-6.5 Goodbye Kinora\n');
  expect(asked!.text).toContain('The frames are of these shots, in order: 0, 1, 2.');
  const chart = { start_ms: 0, end_ms: 3500, title: 'Chart', overall_score: 0.4, ...seen };
  const bars = { start_ms: 3500, end_ms: 6500, title: 'Bars', overall_score: 0.9, ...seen };
  const unheard = { audible_narrative: '', notable_audible_concepts: [] };
  const cue = { start_ms: 3600, end_ms: 5000, text: 'Goodbye Kinora' };
  expect(heard.outputs!.moments).toMatchObject([
    { ...chart, ...unheard },
    {
      ...bars,
      audible_narrative: 'Goodbye.',
      notable_audible_concepts: ['a goodbye'],
      cues: [cue],
      quotable_segment: { start_ms: 3600, text: 'Goodbye Kinora' },
    },
  ]);

  // What a model says of audio that nobody can read is not believed.
  const unsaid = await findMoments({ asset_id: silent, use_shots: true });
  expect(unsaid.outputs!.moments).toEqual([
    { ...chart, ...unheard, cues: [] },
    { ...bars, ...unheard, cues: [] },
  ]);
});

test('scenes begin at cuts', async () => {
  answers.find_scenes = () => ({
    scenes: [
      { first_shot: 0, title: 'Chart', audible_narrative: 'Talk.', visual_narrative: 'A chart.' },
      { first_shot: 2, title: 'Bars' },
    ],
  });
  const { findScenes } = connect(server).robots.jobs;
  const { id } = await findScenes.create({ parameters: { asset_id: withCaptions } });
  await until('the end of the job', async () => !/^p/.test((await findScenes.retrieve(id)).status));
  const job = await findScenes.retrieve(id);
  expect(job.errors).toBeUndefined();
  expect(job.outputs!.scenes).toMatchObject([
    {
      start_ms: 0,
      end_ms: 3500,
      title: 'Chart',
      shot_count: 2,
      audible_narrative: 'Talk.',
      visual_narrative: 'A chart.',
    },
    { start_ms: 3500, end_ms: 6500, title: 'Bars', shot_count: 1 },
  ]);
  const [asked] = provider.asked;
  expect(asked).toMatchObject({ model: 'seer', images: { length: 3 } });
  for (const image of asked!.images) expect(image).toMatch(/^data:image\/jpeg;base64,\/9j\//);
});

test('a model that only reads finds shots with captions, and nothing in silence', async () => {
  const reader = await boot({ options: { AI_URL: provider.url, AI_MODEL: 'reader' } });
  try {
    answers.find_moments_in_shots = () => ({
      moments: [{ first_shot: 1, last_shot: 1, title: 'Fractal', overall_score: 0.5 }],
    });
    const job = await findMoments({ asset_id: await create(reader, true), use_shots: true }, reader);
    expect(job.outputs!.moments).toMatchObject([{ start_ms: 2500, end_ms: 3500 }]);
    expect(job.outputs!.moments[0]).not.toHaveProperty('visual_narrative');
    expect(provider.asked).toMatchObject([{ model: 'reader', images: [] }]);
    expect((await findMoments({ asset_id: await create(reader, false), use_shots: true }, reader)).errors).toEqual([
      {
        type: 'provider_unavailable',
        message: 'The asset has no captions, and no vision model is configured.',
        retryable: false,
      },
    ]);
    expect(provider.asked).toHaveLength(1);
  } finally {
    await reader.stop();
  }
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Api, startApi } from '../support/api.js';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

it('creates an asset and reads it back', async () => {
  const mux = api.sdk();
  const created = await mux.video.assets.create({
    inputs: [{ url: 'https://media.example.org/walk.mp4' }],
    playback_policies: ['public', 'signed'],
    passthrough: 'order-81',
    meta: { title: 'Harbour walk' },
  });
  expect(created).toEqual({
    id: expect.stringMatching(/^[A-Za-z0-9]{40}$/),
    status: 'preparing',
    created_at: expect.stringMatching(/^\d{10}$/),
    progress: { state: 'ingesting', progress: 0 },
    playback_ids: [
      { id: expect.stringMatching(/^[A-Za-z0-9]{40}$/), policy: 'public' },
      { id: expect.stringMatching(/^[A-Za-z0-9]{40}$/), policy: 'signed' },
    ],
    master_access: 'none',
    mp4_support: 'none',
    normalize_audio: false,
    encoding_tier: 'baseline',
    video_quality: 'basic',
    max_resolution_tier: '1080p',
    ingest_type: 'on_demand_url',
    passthrough: 'order-81',
    meta: { title: 'Harbour walk' },
  });
  expect(await mux.video.assets.retrieve(created.id)).toEqual(created);
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const inputs = [{ url: 'https://media.example.org/walk.mp4' }];
const ID = /^[A-Za-z0-9]{40}$/;
const UNKNOWN = 'A'.repeat(40);

describe('the official SDK', () => {
  it('creates an asset and reads it back', async () => {
    const mux = api.sdk();
    const created = await mux.video.assets.create({
      inputs,
      playback_policies: ['public', 'signed'],
      passthrough: 'order-81',
      meta: { title: 'Harbor walk' },
    });
    expect(created).toEqual({
      id: expect.stringMatching(ID),
      status: 'preparing',
      created_at: expect.stringMatching(/^\d{10}$/),
      progress: { state: 'ingesting', progress: 0 },
      playback_ids: [
        { id: expect.stringMatching(ID), policy: 'public' },
        { id: expect.stringMatching(ID), policy: 'signed' },
      ],
      master_access: 'none',
      mp4_support: 'none',
      normalize_audio: false,
      encoding_tier: 'baseline',
      video_quality: 'basic',
      max_resolution_tier: '1080p',
      ingest_type: 'on_demand_url',
      passthrough: 'order-81',
      meta: { title: 'Harbor walk' },
    });
    expect(await mux.video.assets.retrieve(created.id)).toEqual(created);
    expect(await mux.video.assets.retrieveInputInfo(created.id)).toEqual([{ settings: inputs[0] }]);
  });

  it('lists every asset, newest first, and deletes them', async () => {
    const mux = api.sdk();
    const ids: string[] = [];
    for (const title of ['a', 'b', 'c']) ids.unshift((await mux.video.assets.create({ inputs, meta: { title } })).id);
    const listed: string[] = [];
    for await (const asset of mux.video.assets.list({ limit: 2 })) listed.push(asset.id);
    expect(listed.slice(0, 3)).toEqual(ids);
    for (const id of listed) expect(await mux.video.assets.delete(id)).toBeNull();
    expect((await mux.video.assets.list()).data).toEqual([]);
    await expect(mux.video.assets.retrieve(ids[0]!)).rejects.toMatchObject({ status: 404 });
    await expect(mux.video.assets.delete(ids[0]!)).rejects.toMatchObject({ status: 404 });
  });

  it('works with playback ids', async () => {
    const mux = api.sdk();
    const { id } = await mux.video.assets.create({ inputs });
    const playbackId = await mux.video.assets.createPlaybackId(id, { policy: 'public' });
    expect(await mux.video.assets.retrievePlaybackId(id, playbackId.id)).toEqual(playbackId);
    const owner = { ...playbackId, object: { type: 'asset', id } };
    expect(await mux.video.playbackIds.retrieve(playbackId.id)).toEqual(owner);
    expect(await mux.video.assets.deletePlaybackId(id, playbackId.id)).toBeNull();
    await expect(mux.video.playbackIds.retrieve(playbackId.id)).rejects.toMatchObject({ status: 404 });
    expect(await mux.video.assets.retrieve(id)).not.toHaveProperty('playback_ids');
  });

  it('learns who it is', async () => {
    expect(await api.sdk().system.utilities.whoami()).toMatchObject({
      environment_name: 'Default',
      permissions: expect.arrayContaining(['video:read', 'video:write']),
    });
  });

  it('gets the error class of each status', async () => {
    const mux = api.sdk();
    const reader = api.sdk(await api.newToken({ name: 'reader', permissions: ['video:read'] }));
    const [tokenId] = api.token.split(':');
    const error = async (call: Promise<unknown>) => {
      const thrown = await call.then(
        () => undefined,
        (reason: { constructor: { name: string }; status: number; error: { error: object } }) => reason,
      );
      return [thrown?.constructor.name, thrown?.status, thrown?.error.error];
    };
    expect(await error(mux.video.assets.create({ inputs: [] }))).toEqual([
      'BadRequestError',
      400,
      { type: 'invalid_parameters', messages: ['inputs must contain at least one input'] },
    ]);
    expect(await error(api.sdk(`${tokenId}:wrong`).video.assets.list())).toEqual([
      'AuthenticationError',
      401,
      { type: 'unauthorized', messages: ['Unauthorized request'] },
    ]);
    expect(await error(reader.video.assets.create({ inputs }))).toEqual([
      'PermissionDeniedError',
      403,
      { type: 'forbidden', messages: ['The access token does not have permission for this operation'] },
    ]);
    expect(await error(mux.video.assets.retrieve(UNKNOWN))).toEqual([
      'NotFoundError',
      404,
      {
        type: 'not_found',
        messages: ["The requested resource either doesn't exist or you don't have access to it."],
      },
    ]);
    // Not offered.
    expect((await error(mux.data.incidents.list())).slice(0, 2)).toEqual(['NotFoundError', 404]);
  });
});

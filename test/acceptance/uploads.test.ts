import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';
import { sendChunk } from '../support/wire/uploading.js';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const ID = /^[A-Za-z0-9]{40}$/;
const COUNT = 1000;

describe('the official SDK', () => {
  it('makes an upload, reads it back, sends a file and finds its asset', async () => {
    const mux = api.sdk();
    const upload = await mux.video.uploads.create({
      cors_origin: 'https://studio.example.org',
      timeout: 7200,
      new_asset_settings: { playback_policies: ['public'], video_quality: 'plus', meta: { title: 'Harbor walk' } },
    });
    expect(upload).toEqual({
      id: expect.stringMatching(ID),
      status: 'waiting',
      timeout: 7200,
      cors_origin: 'https://studio.example.org',
      new_asset_settings: { playback_policies: ['public'], video_quality: 'plus', meta: { title: 'Harbor walk' } },
      url: expect.stringContaining(`${api.origin}/u/${upload.id}?`),
    });
    expect(await mux.video.uploads.retrieve(upload.id)).toEqual(upload);
    const file = Buffer.alloc(600_000, 'film');
    expect((await sendChunk(upload.url!, file, 0, 524_288)).status).toBe(308);
    expect((await sendChunk(upload.url!, file, 524_288, file.length)).status).toBe(200);
    const { url: _, ...rest } = upload;
    const created = await mux.video.uploads.retrieve(upload.id);
    expect(created).toEqual({ ...rest, status: 'asset_created', asset_id: expect.stringMatching(ID) });
    expect(await mux.video.assets.retrieve(created.asset_id!)).toMatchObject({
      upload_id: upload.id,
      ingest_type: 'on_demand_direct_upload',
      video_quality: 'plus',
      meta: { title: 'Harbor walk' },
      playback_ids: [{ policy: 'public' }],
    });
    const [found] = (await mux.video.assets.list({ upload_id: upload.id })).data;
    expect(found!.id).toBe(created.asset_id);
  });

  it('cancels an upload once', async () => {
    const mux = api.sdk();
    const { id } = await mux.video.uploads.create({ cors_origin: '*' });
    const cancelled = await mux.video.uploads.cancel(id);
    expect(cancelled).toMatchObject({ id, status: 'cancelled' });
    expect(cancelled).not.toHaveProperty('url');
    await expect(mux.video.uploads.cancel(id)).rejects.toMatchObject({
      status: 403,
      error: { error: { type: 'forbidden', messages: ['cancellation no longer possible'] } },
    });
  });

  it('gets the error class of each status', async () => {
    const mux = api.sdk();
    const reader = api.sdk(await api.newToken({ name: 'reader', permissions: ['video:read'] }));
    const { BadRequestError, NotFoundError, PermissionDeniedError, AuthenticationError } = mux.constructor as never as {
      [name: string]: new () => Error;
    };
    await expect(mux.video.uploads.create({ cors_origin: '*', timeout: 1 })).rejects.toBeInstanceOf(BadRequestError);
    await expect(mux.video.uploads.retrieve('A'.repeat(40))).rejects.toBeInstanceOf(NotFoundError);
    await expect(mux.video.uploads.cancel('A'.repeat(40))).rejects.toBeInstanceOf(NotFoundError);
    await expect(reader.video.uploads.create({ cors_origin: '*' })).rejects.toBeInstanceOf(PermissionDeniedError);
    await expect(api.sdk('x:y').video.uploads.list()).rejects.toBeInstanceOf(AuthenticationError);
  });

  it(`lists ${COUNT} uploads without loss or double`, async () => {
    const { mux, environmentId } = await newOwner('uploads');
    expect((await mux.video.uploads.list()).data).toEqual([]);
    await mux.video.uploads.create({ cors_origin: '*' });
    const ids = await multiply('upload', environmentId);
    const listed: string[] = [];
    for await (const upload of mux.video.uploads.list()) listed.push(upload.id);
    expect(listed).toEqual(ids);
    // Pages are counted from the newest: what is created meanwhile moves the rest down, and nothing
    // is left out.
    const again: string[] = [];
    for await (const upload of mux.video.uploads.list({ limit: 100 })) {
      if (again.push(upload.id) % 50 === 0) await mux.video.uploads.create({ cors_origin: '*' });
    }
    expect([...new Set(again)]).toEqual(ids);
  });

  it(`lists ${COUNT} assets without loss or double while others are created`, async () => {
    const { mux, environmentId } = await newOwner('assets');
    const inputs = [{ url: 'https://media.example.org/walk.mp4' }];
    await mux.video.assets.create({ inputs });
    const ids = await multiply('asset', environmentId);
    const listed: string[] = [];
    for await (const asset of mux.video.assets.list()) {
      if (listed.push(asset.id) % 50 === 0) await mux.video.assets.create({ inputs });
    }
    expect(listed).toEqual(ids);
  });
});

/** A new environment and the SDK of somebody who works there. */
const newOwner = async (name: string) => {
  const { id: environmentId } = await api.newEnvironment(name);
  return { environmentId, mux: api.sdk(await api.newToken({ name, environmentId })) };
};

/**
 * Makes `COUNT` of the one upload or asset of an environment, thirty in each moment
 * before. @returns their ids, newest first
 */
const multiply = async (table: 'upload' | 'asset', environmentId: string): Promise<string[]> => {
  const rows = api.database.queryable.selectFrom(table).selectAll().where('environment_id', '=', environmentId);
  const { seq: _, ...first } = await rows.executeTakeFirstOrThrow();
  const copies = Array.from({ length: COUNT - 1 }, (_unused, at) => ({
    ...first,
    id: `copy${at}`.padEnd(40, 'x'),
    created_at: new Date(first.created_at.getTime() - COUNT + Math.floor(at / 30)),
  }));
  // Rows as they were read: the driver writes their objects as JSON again.
  await api.database.queryable
    .insertInto(table)
    .values(copies as never)
    .execute();
  return [...copies, first].map(({ id }) => id).reverse();
};

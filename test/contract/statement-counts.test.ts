import diagnostics from 'node:diagnostics_channel';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { wireFormat } from '#kinora/api/wire-format.js';
import { insertTracks } from '#kinora/db/tables/assets/track.js';
import { recordAssetEvent } from '#kinora/domain/asset-view/record-asset-event.js';
import { IngestState } from '#kinora/domain/assets/ingest-state.js';
import { PlayableFinder } from '#kinora/domain/playback/playable-finder.js';
import { ArtifactUrls } from '#kinora/domain/signing/artifact-urls.js';
import { systemClock } from '#kinora/lib/clock.js';
import { newId } from '#kinora/lib/ids.js';
import { createQueue } from '#kinora/queue/job-queue.js';
import { robotsHook } from '#kinora/robots/asset-hook.js';
import { type Api, startApi } from '../support/servers/api.js';
import { statementsOf } from '../support/statements.js';
import { describeOnBothEngines } from './engines.js';

// Without the embedded engine's maintenance, which sends statements of its own.
vi.useFakeTimers({ toFake: ['setInterval'] });

const videoTrack = { duration: 60, maxWidth: 320, maxHeight: 180, maxFrameRate: 30 };
const READY: Parameters<IngestState['complete']>[1] = {
  properties: { duration: 60, resolutionTier: '720p', maxStoredResolution: 'SD', videoTrack },
  facts: { formatName: 'mp4', sizeBytes: 1, durationSeconds: 60, audio: [] },
  inputSettings: {},
  embedded: { text: [], audio: [], warnings: [] },
  chapters: [],
  warnings: [],
};

describeOnBothEngines('the number of statements', (database) => {
  let api: Api;
  const ids: string[] = [];
  beforeAll(async () => {
    api = await startApi({ database: database() });
    // The caller, once read, stays known.
    api.clock.monotonicMs = () => 0;
    for (let n = 0; n < 101; n++) {
      const fields = {
        inputs: [{ url: 'https://media.example.org/walk.mp4' }],
        playback_policies: ['public', 'signed'],
        static_renditions: [{ resolution: 'highest' }, { resolution: 'audio-only' }],
      };
      const { id } = (await (await api.call('POST', '/video/v1/assets', fields)).json()).data;
      ids.unshift(id);
      await api.makeReady(id, 60);
      const track = { asset_id: id, type: 'text', status: 'ready', text_type: 'subtitles', error: null } as const;
      await insertTracks(database().queryable, [
        { ...track, id: newId(), name: 'English', language_code: 'en' },
        { ...track, id: newId(), name: 'Deutsch', language_code: 'de' },
      ]);
      expect((await api.call('POST', `/video/v1/assets/${id}/shots`)).status).toBe(201);
    }
  });
  afterAll(() => api?.stop());

  const get = async (path: string) => (await api.call('GET', path)).json();
  const complete = {
    playback_ids: [{ policy: 'public' }, { policy: 'signed' }],
    tracks: [{ name: 'English' }, { name: 'Deutsch' }],
    static_renditions: { files: [{ name: 'highest.mp4' }, { name: 'audio.m4a' }] },
    shots: { status: 'pending' },
  };

  it('is one for an asset, and none for an embedded one that is read again', async () => {
    const path = `/video/v1/assets/${ids[0]}`;
    await get(path);
    for (const unchanged of [false, true]) {
      if (!unchanged) await api.call('PATCH', path, { passthrough: 'changed' });
      let response: Awaited<ReturnType<typeof get>>;
      const statements = await statementsOf(async () => {
        response = await get(path);
      });
      expect(response!.data).toMatchObject({ id: ids[0], passthrough: 'changed', ...complete });
      expect(statements).toHaveLength(unchanged && database().engine === 'pglite' ? 0 : 1);
    }
  });

  it.each([25, 100])('is one for a page of %i assets', async (limit) => {
    let response: Awaited<ReturnType<typeof get>>;
    const statements = await statementsOf(async () => {
      response = await get(`/video/v1/assets?limit=${limit}`);
    });
    expect(response!.data).toMatchObject(ids.slice(0, limit).map((id) => ({ id, ...complete })));
    expect(statements).toHaveLength(1);
  });

  it('is at most one for each request', async () => {
    const wanted = [...ids.slice(0, 50), newId()];
    // Nothing that was read before is current.
    await api.call('PATCH', `/video/v1/assets/${ids[0]}`, { passthrough: 'again' });
    const { engine } = database();
    let requests = 0;
    const count = () => void requests++;
    diagnostics.subscribe('http.server.request.start', count);
    let responses: Awaited<ReturnType<typeof get>>[];
    const statements = await statementsOf(async () => {
      // The embedded engine's only connection is in use until all requests have arrived.
      let release: (() => void) | undefined;
      const held = engine === 'pglite' && database().transaction(() => new Promise<void>((end) => (release = end)));
      if (held) await vi.waitUntil(() => release, 60_000);
      const pages = Array.from({ length: 10 }, () => get('/video/v1/assets?limit=25'));
      const all = Promise.all([...wanted.map((id) => get(`/video/v1/assets/${id}`)), ...pages]);
      await vi.waitUntil(() => requests === 61, 60_000).finally(() => release?.());
      responses = await all;
      await held;
    });
    diagnostics.unsubscribe('http.server.request.start', count);
    for (const [at, id] of wanted.slice(0, -1).entries())
      expect(responses![at].data).toMatchObject({ id, ...complete });
    expect(responses![50].error.type).toBe('not_found');
    const first = ids.slice(0, 25).map((id) => ({ id }));
    for (const page of responses!.slice(51)) expect(page.data).toMatchObject(first);
    // Each of the 51 assets and 10 pages; on the embedded engine the first of each kind, then all
    // others together.
    const reads = statements.filter((text) => !/^(begin|commit)$/.test(text));
    expect(reads).toHaveLength(engine === 'pglite' ? 4 : 61);
  });

  it('is one every half minute for all playback IDs in use', async () => {
    const { queryable } = database();
    await queryable
      .insertInto('asset_media')
      .values(ids.map((asset_id) => ({ asset_id, plan: JSON.stringify({ durationSeconds: 60 }) })))
      .onConflict((conflict) => conflict.column('asset_id').doUpdateSet({ plan: sql`excluded.plan` }))
      .execute();
    const playbackIds = (await queryable.selectFrom('playback_id').select('id').execute()).map(({ id }) => id);
    expect(playbackIds).toHaveLength(202);
    let nowMs = 0;
    const clock = { ...systemClock, monotonicMs: () => nowMs };
    const early = { planOf: () => undefined, uploadOf: () => undefined };
    const feeds = { ofAsset: () => undefined, ofStream: () => undefined };
    const finder = new PlayableFinder({
      database: database(),
      clock,
      early,
      feeds,
      maxBytes: 2 ** 20,
      av1After: 'never',
    });
    const findAll = () => Promise.all(playbackIds.map((id) => finder.find(id)));
    const before = await findAll();
    const statements = await statementsOf(async () => {
      for (let round = 0; round < 10; round++) {
        await findAll();
        nowMs += 31_000;
        const [known] = await findAll();
        // Beside these requests, all are read again.
        await vi.waitFor(async () => expect(await finder.find(playbackIds[0]!)).not.toBe(known), 60_000);
      }
    });
    expect(statements.filter((text) => text.includes('playback_id'))).toHaveLength(10);
    expect(await findAll()).toEqual(before);
    expect(before.every((playable) => playable?.plan?.durationSeconds === 60)).toBe(true);
  });

  it('is one to read what an event shows and one to write it', async () => {
    const context = {
      clock: systemClock,
      wire: wireFormat,
      artifactUrls: new ArtifactUrls('secret', () => api.origin),
    };
    const statements = await statementsOf(() =>
      database().transaction((tx) => recordAssetEvent(context, tx, 'video.asset.updated', ids[1]!)),
    );
    expect(statements.map((statement) => /\w+/.exec(statement)?.[0])).toEqual(['begin', 'select', 'with', 'commit']);
    const { data } = await get(`/system/v1/events?object_id=${ids[1]}&type=video.asset.updated`);
    expect(data).toMatchObject([{ data: { id: ids[1], ...complete } }]);
  });

  it.each([
    ['complete', 18, { status: 'ready', tracks: [{ type: 'video' }, { name: 'English' }] }],
    ['fail', 13, { status: 'errored', errors: { type: 'internal_error' } }],
  ] as const)('to %s an ingest is %i, two of them for its event', async (change, count, told) => {
    const { playback_ids: playbackIds } = complete;
    const inputs = [{ url: 'https://media.example.org/walk.mp4' }];
    const fields = { inputs, playback_policies: playbackIds.map(({ policy }) => policy) };
    const { id } = (await (await api.call('POST', '/video/v1/assets', fields)).json()).data;
    const track = { asset_id: id, type: 'text', status: 'ready', text_type: 'subtitles', error: null } as const;
    await insertTracks(database().queryable, [{ ...track, id: newId(), name: 'English', language_code: 'en' }]);
    const state = new IngestState({
      database: database(),
      clock: systemClock,
      queue: createQueue(database()),
      wire: wireFormat,
      artifactUrls: new ArtifactUrls('secret', () => api.origin),
      recognizesSpeech: false,
      assetHook: robotsHook,
      onPlayableChanged: () => undefined,
    });
    const changes = {
      complete: () => state.complete(id, READY),
      fail: () => state.fail(id, new Error('damaged'), { jobId: newId(), hasSource: true, detail: 'damaged' }),
    };
    const statements = await statementsOf(changes[change]);
    expect(statements).toHaveLength(count);
    const positionsOf = (pattern: RegExp) => statements.flatMap((text, at) => (pattern.test(text) ? [at] : []));
    const reads = positionsOf(/^select "asset"\.\*, /);
    expect(reads).toHaveLength(1);
    expect(positionsOf(/insert into "?event"? /)).toEqual([reads[0]! + 1]);
    const { data } = await get(`/system/v1/events?object_id=${id}&type=video.asset.${told.status}`);
    expect(data).toMatchObject([{ data: { id, playback_ids: playbackIds, ...told } }]);
  });
});

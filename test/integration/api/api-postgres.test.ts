import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { migrate } from '#kinora/db/migrate.js';
import { openDatabase } from '#kinora/db/open-database.js';
import { findEnvironmentOf, lockAssetForUpdate } from '#kinora/db/tables/assets/asset.js';
import { insertTracks, removeTrack } from '#kinora/db/tables/assets/track.js';
import type { DomainContext } from '#kinora/domain/context.js';
import { TrackState } from '#kinora/domain/tracks/track-state.js';
import { newId } from '#kinora/lib/ids.js';
import type { AudioPlan } from '#kinora/media/plan/plan.js';
import { quietLogger } from '../../support/logger.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/servers/postgres.js';
import { expectError } from '../../support/wire/expect-error.js';

// What needs several connections at once, or a database that can become unavailable.
describe.skipIf(!hasPostgres())('the API on PostgreSQL', () => {
  let postgres: TestPostgres | undefined;
  let api: Api;
  beforeAll(async () => {
    postgres = await startPostgres();
    const url = await postgres.createDatabase('api');
    const database = await openDatabase({ url, dataDir: '/nonexistent', logger: quietLogger });
    await migrate(database);
    api = await startApi({ database });
  });
  afterAll(async () => {
    await api?.stop();
    await postgres?.stop();
  });

  const create = async () => {
    const body = { inputs: 'https://media.example.org/walk.mp4', playback_policies: 'public' };
    return (await (await api.call('POST', '/video/v1/assets', body)).json()).data;
  };

  it('creates, lists with cursors and deletes', async () => {
    const ids = [];
    for (let count = 0; count < 3; count++) ids.unshift((await create()).id);
    const found = [];
    for await (const asset of api.sdk().video.assets.list({ limit: 1 })) found.push(asset.id);
    expect(found).toEqual(ids);
    for (const id of ids) expect((await api.call('DELETE', `/video/v1/assets/${id}`)).status).toBe(204);
  });

  it('never leaves a playback id behind when an asset is deleted while one is made', async () => {
    for (let round = 0; round < 20; round++) {
      const { id } = await create();
      const path = `/video/v1/assets/${id}`;
      const [made, again, removed] = await Promise.all([
        api.call('POST', `${path}/playback-ids`, { policy: 'public' }),
        api.call('POST', `${path}/playback-ids`, { policy: 'public' }),
        api.call('DELETE', path),
      ]);
      expect(removed.status).toBe(204);
      const told = api.forgotten.find(
        (entry) => 'assetId' in (entry as object) && (entry as { assetId: string }).assetId === id,
      );
      for (const response of [made, again]) {
        expect([201, 404]).toContain(response.status);
        if (response.status === 201) {
          const playbackId = (await response.json()).data.id;
          expect(told).toMatchObject({ playbackIds: expect.arrayContaining([playbackId]) });
        }
      }
    }
    expect(await api.database.queryable.selectFrom('playback_id').selectAll().execute()).toEqual([]);
  });

  it('lets a track be deleted in the moment in which it becomes ready', async () => {
    const { database } = api;
    const { id: assetId } = await create();
    const environmentId = (await findEnvironmentOf(database.queryable, assetId))!;
    await api.makeReady(assetId, 10);
    const trackId = newId();
    await insertTracks(database.queryable, [{ id: trackId, asset_id: assetId, type: 'audio', status: 'preparing' }]);
    const context = { database, clock: api.clock, onPlayableChanged: () => undefined };
    const state = new TrackState(context as unknown as DomainContext);
    const completed = await database.transaction(async (tx) => {
      await lockAssetForUpdate(tx, environmentId, assetId);
      const audio = { durationSeconds: 10, maxChannels: 2, maxChannelLayout: 'stereo', concatenated: false };
      const completing = state.complete(trackId, { ...audio, plan: {} as AudioPlan, isSilentAsset: true });
      await vi.waitFor(async () => {
        const { rows } = await sql`select from pg_locks where not granted`.execute(database.queryable);
        expect(rows).not.toEqual([]);
      });
      await removeTrack(tx, trackId);
      return { completing };
    });
    expect(await completed.completing).toBe(false);
  });

  it('answers 503 with a time to come back while PostgreSQL is unavailable', async () => {
    const unknown = await api.newToken({ name: 'not in memory' });
    expect((await fetch(`${api.origin}/readyz`)).status).toBe(200);
    await postgres?.stop();
    postgres = undefined;
    const responses = [
      await api.call('GET', '/video/v1/assets'),
      await api.callAs(unknown, 'GET', '/system/v1/whoami'),
    ];
    for (const response of responses) {
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      await expectError(response, 503, 'unavailable', ['Service temporarily unavailable']);
    }
    expect((await fetch(`${api.origin}/readyz`)).status).toBe(503);
    expect((await fetch(`${api.origin}/healthz`)).status).toBe(200);
  });
});

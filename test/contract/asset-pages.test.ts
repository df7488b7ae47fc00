import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listAssetViews, readAssetView } from '#kinora/db/tables/assets/asset-reads.js';
import { findAssetView } from '#kinora/db/tables/assets/asset-view.js';
import { insertTracks } from '#kinora/db/tables/assets/track.js';
import { newId } from '#kinora/lib/ids.js';
import { type Api, startApi } from '../support/servers/api.js';
import { statementsOf } from '../support/statements.js';
import { describeOnBothEngines } from './engines.js';

describeOnBothEngines('an asset, or a page of assets, that was read before', (database) => {
  let api: Api;
  const ids: string[] = [];
  let environmentId: string;
  const page = () => listAssetViews(database(), environmentId, { limit: 25, offset: 0 });
  beforeAll(async () => {
    api = await startApi({ database: database() });
    for (let n = 0; n < 5; n++) {
      const fields = {
        inputs: [{ url: 'https://media.example.org/walk.mp4' }],
        playback_policies: ['public'],
        meta: { title: `no. ${n}` },
        static_renditions: [{ resolution: 'highest' }],
      };
      const { id } = (await (await api.call('POST', '/video/v1/assets', fields)).json()).data;
      ids.unshift(id);
      await api.makeReady(id, 60.04);
    }
    const asset = await database()
      .queryable.selectFrom('asset')
      .select('environment_id')
      .where('id', '=', ids[0]!)
      .executeTakeFirstOrThrow();
    environmentId = asset.environment_id;
  });
  afterAll(() => api?.stop());

  const callOk = async (...call: Parameters<Api['call']>) => {
    const response = await api.call(...call);
    expect(response.status).toBeLessThan(300);
    return (await response.json().catch(() => ({}))).data;
  };
  let playbackId: string;
  const trackId = newId();
  const changes: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['nothing', async () => undefined],
    ['a column of an asset', () => callOk('PATCH', `/video/v1/assets/${ids[1]}`, { passthrough: 'other' })],
    [
      'a new playback ID',
      async () => {
        playbackId = (await callOk('POST', `/video/v1/assets/${ids[2]}/playback-ids`, { policy: 'signed' })).id;
      },
    ],
    ['a removed playback ID', () => callOk('DELETE', `/video/v1/assets/${ids[2]}/playback-ids/${playbackId}`)],
    [
      'a new track',
      () =>
        insertTracks(database().queryable, [
          {
            ...({ asset_id: ids[3]!, type: 'text', status: 'ready', text_type: 'subtitles', error: null } as const),
            ...{ id: trackId, name: 'English', language_code: 'en' },
          },
        ]),
    ],
    ['a changed track', () => callOk('PATCH', `/video/v1/assets/${ids[3]}/tracks/${trackId}`, { name: 'British' })],
    [
      'two changes in one transaction',
      () =>
        database().transaction(async (tx) => {
          for (const name of ['first', 'second'])
            await tx.updateTable('track').set({ name }).where('id', '=', trackId).execute();
        }),
    ],
    [
      'a change inside of a select',
      () =>
        sql`with changed as (update asset set passthrough = 'x' where id = ${ids[0]} returning id) select * from changed`.execute(
          database().queryable,
        ),
    ],
    [
      'a change by a block of code',
      () =>
        sql`do $$ begin update asset set passthrough = 'y' where passthrough = 'x'; end $$`.execute(
          database().queryable,
        ),
    ],
    ['a removed track', () => callOk('DELETE', `/video/v1/assets/${ids[3]}/tracks/${trackId}`)],
    ['a new rendition', () => callOk('POST', `/video/v1/assets/${ids[0]}/static-renditions`, { resolution: '270p' })],
    ['shots', () => callOk('POST', `/video/v1/assets/${ids[0]}/shots`)],
    ['a master', () => callOk('PUT', `/video/v1/assets/${ids[4]}/master-access`, { master_access: 'temporary' })],
    [
      'a new asset',
      async () =>
        ids.unshift(
          (await callOk('POST', '/video/v1/assets', { inputs: [{ url: 'https://media.example.org/a.mp4' }] })).id,
        ),
    ],
    ['a deleted asset', () => callOk('DELETE', `/video/v1/assets/${ids.splice(2, 1)[0]}`)],
  ];
  it.each(changes)('shows %s', async (_, change) => {
    const before = await page();
    expect(before).toHaveLength(ids.length);
    expect(await callOk('GET', '/video/v1/assets?limit=25')).toHaveLength(ids.length);
    await change();
    const after = await page();
    const single = await Promise.all(ids.map((id) => findAssetView(database().queryable, id)));
    expect(await Promise.all(ids.map((id) => readAssetView(database(), environmentId, id)))).toEqual(single);
    expect(after.map(({ asset }) => asset.id)).toEqual(ids);
    for (const [index, { asset, playbackIds, tracks, renditions, shots }] of after.entries()) {
      // The page has a column more, the version.
      expect(asset).toMatchObject(single[index]!.asset);
      expect({ playbackIds, tracks, renditions, shots }).toEqual({
        playbackIds: single[index]!.playbackIds,
        tracks: single[index]!.tracks,
        renditions: single[index]!.renditions,
        shots: single[index]!.shots,
      });
    }
    const responses = await Promise.all(ids.map((id) => callOk('GET', `/video/v1/assets/${id}`)));
    expect(await callOk('GET', '/video/v1/assets?limit=25')).toEqual(responses);
  });

  it('shows the end of a transaction, but nothing of an open or a failed one', async () => {
    const read = async () => (await readAssetView(database(), environmentId, ids[1]!))!.asset.passthrough;
    const isEmbedded = database().engine === 'pglite';
    await callOk('PATCH', `/video/v1/assets/${ids[1]}`, { passthrough: 'before' });
    expect(await read()).toBe('before');
    const update = async (passthrough: string, last: () => Promise<void>) =>
      database().transaction(async (tx) => {
        await tx.updateTable('asset').set({ passthrough }).where('id', '=', ids[1]!).execute();
        await last();
      });
    await update('ended', async () => expect(await read()).toBe('before'));
    expect(await read()).toBe('ended');
    const failing = update('failed', async () => Promise.reject(new Error('failed')));
    await expect(failing).rejects.toThrow('failed');
    const statements = await statementsOf(async () => expect(await read()).toBe('ended'));
    expect(statements.length).toBeLessThanOrEqual(1);
    expect(await statementsOf(read)).toHaveLength(isEmbedded ? 0 : 1);
  });

  it('is made of what was read before, as far as it did not change', async () => {
    const before = await page();
    if (database().engine === 'pglite') expect(await statementsOf(page)).toHaveLength(0);
    await callOk('PATCH', `/video/v1/assets/${ids[1]}`, { passthrough: 'third' });
    let after: typeof before = [];
    const statements = await statementsOf(async () => {
      after = await page();
    });
    expect(statements).toHaveLength(1);
    expect(after.map((row, index) => row === before[index])).toEqual(ids.map((_, index) => index !== 1));
  });
});

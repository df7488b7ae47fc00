import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '#kinora/db/database.js';
import { describeOnBothEngines } from '../../contract/engines.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { storeViews, type ViewFields } from '../../support/stored-views.js';

const HOUR_MS = 3600_000;

describeOnBothEngines('engagement', (database: () => Database) => {
  let api: Api;
  let assetId: string;
  let foreignId: string;
  const view = (id: string, ranges: [number, number][], more: Partial<ViewFields> = {}): ViewFields => ({
    ...{ id, started_at: new Date(Date.now() - HOUR_MS), asset_id: assetId, playback_id: 'public', ranges },
    ...{ dimensions: { video_id: 'film-17' } },
    ...more,
  });
  beforeAll(async () => {
    api = await startApi({ database: database() });
    const { id } = await api.database.queryable.selectFrom('environment').select('id').executeTakeFirstOrThrow();
    const body = { inputs: 'https://media.example.org/walk.mp4' };
    assetId = (await (await api.call('POST', '/video/v1/assets', body)).json()).data.id;
    await api.makeReady(assetId, 20);
    const foreign = await api.newEnvironment('foreign');
    foreignId = foreign.id;
    await storeViews(api.database, foreign.id, [view('foreign', [[0, 20_000]])]);
    await storeViews(api.database, id, [
      view('whole', [[0, 20_000]]),
      view('again', [
        [10_000, 14_000],
        [10_000, 14_000],
        [10_000, 14_000],
      ]),
      view('signed', [[0, 4000]], { playback_id: 'signed' }),
      view('nothing', []),
      view('deleted', [[0, 1000]], { asset_id: 'deleted', playback_id: null, dimensions: {} }),
      view('old', [[0, 20_000]], { started_at: new Date(Date.now() - 48 * HOUR_MS) }),
      // Of something that is no asset: what half of the views report.
      view('elsewhere', [[0, 6000]], {
        ...{
          asset_id: null,
          playback_id: null,
          dimensions: { video_id: 'elsewhere' },
          details: { video_duration: 12_000 },
        },
      }),
      view('liar', [[0, 6000]], {
        ...{
          asset_id: null,
          playback_id: null,
          dimensions: { video_id: 'elsewhere' },
          details: { video_duration: 1e12 },
        },
      }),
      view('silent', [[0, 3000]], {
        ...{ asset_id: null, playback_id: null, dimensions: { video_id: 'silent' }, max_playhead: 3000 },
      }),
    ]);
  });
  afterAll(() => api?.stop());

  const get = async (path: string) => (await api.call('GET', `/data/v1/engagement/${path}`)).json();
  const repeated = (count: number, value: number): number[] => Array.from({ length: count }, () => value);

  it('says how often each second was played', async () => {
    const { data, timeframe, total_row_count } = await get(`assets/${assetId}/heatmap`);
    expect(data).toEqual({
      total_views: 3,
      value: [...repeated(4, 0.6667), ...repeated(6, 0.3333), ...repeated(4, 1.3333), ...repeated(6, 0.3333)],
    });
    expect([timeframe[1] - timeframe[0], total_row_count]).toEqual([24 * 3600, null]);
  });

  it('covers the views of the time frame, the playback ID or the video', async () => {
    const viewsOf = async (path: string) => (await get(path)).data.total_views;
    expect(await viewsOf(`assets/${assetId}/heatmap?timeframe[]=7:days`)).toBe(4);
    expect(await viewsOf('playback-ids/public/heatmap')).toBe(2);
    expect(await viewsOf('playback-ids/signed/hotspots')).toBe(1);
    expect(await viewsOf('videos/film-17/heatmap')).toBe(3);
  });

  it('knows how long it is, whatever is watched', async () => {
    expect((await get('videos/elsewhere/heatmap')).data).toEqual({
      total_views: 2,
      value: [...repeated(6, 1), ...repeated(6, 0)],
    });
    expect((await get('videos/silent/heatmap')).data).toEqual({ total_views: 1, value: repeated(10, 1) });
    expect((await get('videos/unknown/heatmap')).data).toEqual({ total_views: 0, value: repeated(10, 0) });
    expect((await get('videos/unknown/hotspots')).data).toEqual({ total_views: 0, hotspots: [] });
  });

  it('finds only what exists, or was watched before it was deleted', async () => {
    const body = { inputs: 'https://media.example.org/walk.mp4', playback_policies: 'public' };
    const other = (await (await api.call('POST', '/video/v1/assets', body)).json()).data;
    const statuses = (paths: string[]) =>
      Promise.all(paths.map(async (path) => (await api.call('GET', `/data/v1/engagement/${path}`)).status));
    const paths = [`assets/${other.id}/heatmap`, `playback-ids/${other.playback_ids[0].id}/hotspots`];
    expect(await statuses(paths)).toEqual([200, 200]);
    const foreign = await api.newToken({ name: 'foreign', environmentId: foreignId });
    for (const path of paths)
      expect((await api.callAs(foreign, 'GET', `/data/v1/engagement/${path}`)).status).toBe(404);
    await api.call('DELETE', `/video/v1/assets/${other.id}`);
    expect(await statuses([...paths, 'assets/unknown/heatmap'])).toEqual([404, 404, 404]);
    expect(await statuses(['assets/deleted/heatmap', 'assets/deleted/heatmap?timeframe[]=1:seconds'])).toEqual([
      200, 200,
    ]);
  });

  it('lists what stands out', async () => {
    const spots = async (query = '') => (await get(`assets/${assetId}/hotspots?${query}`)).data.hotspots;
    expect(await spots()).toEqual([{ start_ms: 10_000, end_ms: 14_000, score: 1 }]);
    const cold = await spots('order_direction=asc');
    expect(cold).toEqual([
      { start_ms: 4000, end_ms: 9000, score: 0.25 },
      { start_ms: 15_000, end_ms: 20_000, score: 0.25 },
    ]);
    expect(await spots('order_direction=asc&limit=1')).toEqual(cold.slice(0, 1));
  });
});

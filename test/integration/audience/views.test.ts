import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '#kinora/db/database.js';
import { describeOnBothEngines } from '../../contract/engines.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { eventsAt, storeViews, type ViewFields } from '../../support/stored-views.js';
import { expectError, NOT_FOUND } from '../../support/wire/expect-error.js';

const NOW = Date.now();
const minutesAgo = (minutes: number): Date => new Date(NOW - minutes * 60_000);

/** A view of a minute that ended. */
const view = (id: string, endedMinutesAgo: number, more: Partial<ViewFields> = {}): ViewFields => ({
  id,
  started_at: minutesAgo(endedMinutesAgo + 1),
  ended_at: minutesAgo(endedMinutesAgo),
  video_startup_time: 500,
  watch_time: 60_000,
  rebuffer_count: 0,
  rebuffer_duration: 0,
  ...more,
});

const started = minutesAgo(20);
const whole: ViewFields = {
  ...view('whole', 10),
  started_at: started,
  viewer_id: 'reader-7',
  session_id: 'visit-3',
  playback_id: 'play',
  error_id: 12,
  is_playback_failure: true,
  dimensions: {
    ...{ country: 'DE', browser: 'Firefox', browser_version: '140', operating_system: 'Linux' },
    ...{ video_title: 'Harbor walk', player_error_code: '3', view_has_ad: 'false', player_autoplay: 'true' },
    ...{ video_cdn_trace: 'fastly,akamai', preroll_played: 'true', asn: '64496' },
  },
  details: {
    ...{ player_error_message: 'decode', player_width: 640, video_duration: 90_000, used_fullscreen: true },
    ...{ mux_viewer_id: 'made-up', session_id: 'player-session', video_source_height: '720', player_height: 'tall' },
  },
  playing_time: 58_000,
  rebuffer_count: 3,
  rebuffer_duration: 6000,
  max_upscale: 0.25,
  average_bitrate: 2_500_000.5,
  events: [
    ...eventsAt(started, 'viewstart@0 playing@0.5'),
    ['error', started.getTime() + 60_000, 58_000, { player_error_code: '3' }],
  ],
};

describeOnBothEngines('video views', (database: () => Database) => {
  let api: Api;
  let environmentId: string;
  beforeAll(async () => {
    api = await startApi({ database: database() });
    const { id } = await api.database.queryable.selectFrom('environment').select('id').executeTakeFirstOrThrow();
    environmentId = id;
    const foreign = await api.newEnvironment('foreign');
    await storeViews(api.database, foreign.id, [view('foreign', 1)]);
    await storeViews(api.database, environmentId, [
      view('first', 60, { viewer_id: 'a', dimensions: { country: 'US' } }),
      view('second', 50, { viewer_id: 'b', dimensions: { viewer_user_id: 'a' }, video_startup_time: 4000 }),
      view('third', 40, { error_id: 7, is_playback_failure: true, dimensions: { country: 'US' } }),
      view('fourth', 30, { error_id: 8, is_playback_failure: true, is_business_exception: true }),
      view('old', 3 * 24 * 60),
      { id: 'running', started_at: minutesAgo(5), seen_at: minutesAgo(1) },
      whole,
    ]);
  });
  afterAll(() => api?.stop());

  const list = async (query = '') => (await api.call('GET', `/data/v1/video-views?${query}`)).json();
  const ids = async (query = ''): Promise<string[]> => (await list(query)).data.map(({ id }: { id: string }) => id);

  describe('are listed', () => {
    it('by their ends, without those that continue, are older or belong to others', async () => {
      expect(await ids()).toEqual(['whole', 'fourth', 'third', 'second', 'first']);
      expect(await ids('order_direction=asc')).toEqual(['first', 'second', 'third', 'fourth', 'whole']);
      expect(await ids('timeframe[]=7:days')).toHaveLength(6);
    });

    it('within the time frame, whose end does not belong to it', async () => {
      const seconds = (minutes: number): number => Math.floor(minutesAgo(minutes).getTime() / 1000);
      const frame = [seconds(51), seconds(40)];
      const page = await list(`timeframe[]=${frame[0]}&timeframe[]=${frame[1]}`);
      expect(page.data.map(({ id }: { id: string }) => id)).toEqual(['second']);
      expect(page.timeframe).toEqual(frame);
    });

    it('page by page, with the number of all', async () => {
      const page = await list('limit=2&page=2');
      expect(page).toMatchObject({ total_row_count: 5, page: 2, limit: 2 });
      expect(page.data).toMatchObject([
        { id: 'third', total_row_count: 5 },
        { id: 'second', total_row_count: 5 },
      ]);
      expect(await ids('limit=2&page=4')).toEqual([]);
    });

    it.each<[string, string[]]>([
      ['filters[]=country:US', ['third', 'first']],
      ['filters[]=country:US&filters[]=country:DE', ['whole', 'third', 'first']],
      ['filters[]=!country:US&filters[]=!country:', ['whole']],
      ['filters[]=%2Bvideo_cdn_trace:akamai', ['whole']],
      ['filters[]=playback_failure:true', ['whole', 'third']],
      ['metric_filters[]=video_startup_time>=1000', ['second']],
      ['metric_filters[]=rebuffer_count>0', ['whole']],
      ['error_id=7', ['third']],
      ['error_id=any', ['whole', 'fourth', 'third']],
      ['error_id=99', []],
      ['viewer_id=a', ['second', 'first']],
      ['viewer_id=a&filters[]=country:US', ['first']],
    ])('with %s', async (query, expected) => {
      expect(await ids(query)).toEqual(expected);
    });

    it('with the most important fields', async () => {
      const { data } = await list('limit=1');
      expect(data).toEqual([
        {
          id: 'whole',
          view_start: started.toISOString(),
          view_end: minutesAgo(10).toISOString(),
          video_title: 'Harbor walk',
          viewer_application_name: 'Firefox',
          viewer_os_family: 'Linux',
          country_code: 'DE',
          watch_time: 60_000,
          viewer_experience_score: 0,
          playback_failure: true,
          error_type_id: 12,
          player_error_code: '3',
          player_error_message: 'decode',
          total_row_count: 5,
        },
      ]);
    });
  });

  describe('one of them', () => {
    const get = async (id: string) => (await api.call('GET', `/data/v1/video-views/${id}`)).json();

    it('has what the player reported, in the types of its fields', async () => {
      const { data, timeframe, total_row_count } = await get('whole');
      expect(timeframe).toEqual([started.getTime(), minutesAgo(10).getTime()].map((ms) => Math.floor(ms / 1000)));
      expect(total_row_count).toBe(1);
      expect(data).toMatchObject({
        ...{ id: 'whole', view_id: 'whole', environment_id: environmentId, property_id: 0, asset_id: null },
        ...{ playback_id: 'play', country_code: 'DE', country_name: 'Germany', asn: 64_496, city: null },
        ...{ viewer_application_version: '140', viewer_os_family: 'Linux', viewer_os_version: null },
        ...{ platform_summary: 'Firefox on Linux', platform_description: 'Firefox 140 on Linux' },
        ...{ mux_viewer_id: 'made-up', session_id: 'player-session', view_session_id: 'visit-3' },
        ...{ player_autoplay: true, player_preload: false, view_has_ad: false, preroll_played: true },
        ...{ preroll_requested: null, used_fullscreen: true, used_pip: false, watched: true, view_dropped: false },
        ...{ player_width: 640, player_height: null, video_source_height: 720, video_duration: 90_000 },
        ...{ video_cdn_trace: ['fastly', 'akamai'], view_max_upscale_percentage: '0.25' },
        ...{ buffering_count: 3, buffering_rate: '0.00005', rebuffer_percentage: '0.1' },
        ...{ view_playing_time: '58000', time_to_first_frame: 500, weighted_average_bitrate: 2_500_000.5 },
        ...{ playback_failure: true, video_startup_failure: false, error_type_id: 12, view_error_id: 12 },
        ...{ playback_failure_error_type_id: 12, playback_business_exception_error_type_id: null },
        ...{ viewer_experience_score: '0', startup_score: '100', quality_score: null },
        ...{ short_time: started.toISOString().slice(11, 16), exit_before_video_start: false },
      });
      expect(data.events[2]).toEqual({
        ...{ name: 'error', event_time: started.getTime() + 60_000, viewer_time: started.getTime() + 60_000 },
        ...{ playback_time: 58_000, details: { player_error_code: '3' } },
      });
      expect(data.events[0].details).toEqual({});
    });

    it('is found while it continues, with nulls for what is unknown', async () => {
      const { data } = await get('running');
      expect(data).toMatchObject({
        ...{ view_end: minutesAgo(1).toISOString(), events: [], video_cdn_trace: [], watched: false },
        ...{ watch_time: null, buffering_rate: null, viewer_experience_score: '100', mux_viewer_id: '' },
        ...{ exit_before_video_start: false, session_id: 'running', platform_summary: null, country_name: null },
      });
    });

    it('is not found in another environment, or under no name', async () => {
      for (const id of ['foreign', 'nothing', '%00'])
        await expectError(await api.call('GET', `/data/v1/video-views/${id}`), 404, 'not_found', [NOT_FOUND]);
    });
  });
});

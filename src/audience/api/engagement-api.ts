import { Type } from 'typebox';
import type { ApiPart } from '../../api/openapi/api-part.js';
import { type Description, timeframe } from '../../api/openapi/description.js';
import type { Operation } from '../../api/operations.js';
import { withTimeframe } from './common.js';

const { Array: List, Enum, Integer, Number: Numeric, Object: Fields } = Type;

const totalViews = () => Integer({ description: 'Views that played something' });

const HeatmapResponse = Fields(
  {
    total_views: totalViews(),
    value: List(Numeric(), {
      description:
        'How often each part was played, for each view: 1 when every view played all of it once. A part per second, but at least 10 and at most 1,000',
    }),
  },
  { title: 'EngagementHeatmap', description: 'Which parts of a video viewers watch' },
);

const HotspotsResponse = Fields(
  {
    total_views: totalViews(),
    hotspots: List(
      Fields({
        start_ms: Integer({ description: 'Start of the hotspot, in milliseconds of media time' }),
        end_ms: Integer({ description: 'End of the hotspot (exclusive), in milliseconds of media time' }),
        score: Numeric({ description: 'Share of how often the most watched part is played, from 0 to 1' }),
      }),
      { description: 'The parts that stand out, in the order of the request' },
    ),
  },
  { title: 'EngagementHotspots', description: 'The parts of a video that viewers watch most or least' },
);

/** What is watched, by the name in paths. */
const targets = [
  { name: 'Asset', path: 'assets/:assetId', of: 'an asset', views: 'All views of the asset count' },
  {
    name: 'PlaybackId',
    path: 'playback-ids/:playbackId',
    of: 'a playback ID',
    views: 'Views of other IDs do not count',
  },
  { name: 'Video', path: 'videos/:videoId', of: 'a video', views: 'All views with this `video_id` count' },
] as const;

const read = { method: 'GET', permission: 'data:read', success: 200 } as const;
const when = timeframe(
  'When the views began: two Unix timestamps, or a duration such as `7:days`. Default: `24:hours`',
);

export const engagementApi: ApiPart = {
  operations: Object.fromEntries(
    targets.flatMap(({ name, path }): [string, Operation][] => [
      [`get${name}Heatmap`, { ...read, path: `/data/v1/engagement/${path}/heatmap` }],
      [`list${name}Hotspots`, { ...read, path: `/data/v1/engagement/${path}/hotspots` }],
    ]),
  ),
  descriptions: Object.fromEntries(
    targets.flatMap(({ name, of, views }): [string, Description][] => [
      [
        `get${name}Heatmap`,
        {
          tag: 'Engagement',
          summary: `Retrieve the heatmap of ${of}`,
          details: `${views}.`,
          query: when,
          response: withTimeframe(HeatmapResponse),
        },
      ],
      [
        `list${name}Hotspots`,
        {
          tag: 'Engagement',
          summary: `List the hotspots of ${of}`,
          details: `The parts that views play far more often than others, or far less often. ${views}.`,
          query: {
            ...when,
            limit: Integer({ minimum: 1, description: 'Largest number of hotspots. All of them when absent' }),
            order_direction: Enum(['asc', 'desc'], {
              description: '`desc`, the default: the parts that are played most. `asc`: those that are played least',
            }),
          },
          response: withTimeframe(HotspotsResponse),
        },
      ],
    ]),
  ),
  pathParameters: { videoId: 'ID of the video, as pages name it' },
  examples: {
    EngagementHeatmap: { total_views: 412, value: [0.98, 0.95, 0.9, 0.88, 1.4, 1.6, 0.8, 0.7, 0.6, 0.5] },
    EngagementHotspots: { total_views: 412, hotspots: [{ start_ms: 4000, end_ms: 6000, score: 1 }] },
  },
  examplesAfter: {},
};

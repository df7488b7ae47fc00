import { type TSchema, Type } from 'typebox';
import type { ApiPart } from '../../api/openapi/api-part.js';
import { paging } from '../../api/openapi/description.js';
import { listWithTimeframe, totalRowCount } from '../../api/schemas/response.js';
import { isoTime, orNull, withTimeframe } from './common.js';
import { viewSelection } from './metrics-api.js';
import { type FieldKind, viewFields } from './view-fields.js';

const VIEW_ID = 'f2b0c6de-7a41-4b8e-9d35-1c6e0a9f4b72';

const { Array: List, Boolean: Flag, Integer, Number: Numeric, Object: Fields, String: Text, Unsafe } = Type;

const schemaOf: Readonly<Record<FieldKind, (description: string) => TSchema>> = {
  text: (description) => orNull(Text(), description),
  number: (description) => orNull(Numeric(), description),
  share: (description) => orNull(Text(), `${description}, as a string`),
  flag: (description) => Flag({ description }),
  'flag?': (description) => orNull(Flag(), description),
  list: (description) => List(Text(), { description }),
  time: isoTime,
};

const EventResponse = Fields({
  name: Text({ description: 'Name of the event, such as `playing`' }),
  event_time: Integer({ description: 'When it happened, in milliseconds since 1970' }),
  viewer_time: Integer({ description: 'The same by the clock of the viewer' }),
  playback_time: Integer({ description: 'Media time at which it happened, in milliseconds' }),
  details: Unsafe({ type: 'object', description: 'What the player reports beside the event' }),
});

const VideoViewResponse = Fields(
  {
    ...Object.fromEntries(
      Object.entries(viewFields).map(([name, { kind, description }]) => [name, schemaOf[kind](description)]),
    ),
    events: List(EventResponse, { description: 'What happened, at most 300 events. Heartbeats are left out' }),
  },
  { title: 'VideoView', description: 'One view of a video, as its player reports it' },
);

const AbridgedVideoViewResponse = Fields(
  {
    id: Text({ description: 'ID of the view, as the player made it' }),
    view_start: isoTime('When the view began'),
    view_end: isoTime('When the view ended'),
    video_title: orNull(Text(), 'Title of the video'),
    viewer_application_name: orNull(Text(), 'Browser or app of the viewer'),
    viewer_os_family: orNull(Text(), 'Operating system of the viewer'),
    country_code: orNull(Text(), 'Two letters of the country of the viewer'),
    watch_time: orNull(Integer(), 'Time the viewer spent with the view, in milliseconds'),
    viewer_experience_score: orNull(Numeric(), 'Score of the whole view, from 0 to 100'),
    playback_failure: Flag({ description: 'Whether an error ended it' }),
    error_type_id: orNull(Integer(), 'ID of the error that the view ended with'),
    player_error_code: orNull(Text(), 'Code of the error, as the player reports it'),
    player_error_message: orNull(Text(), 'Message of the error, as the player reports it'),
    total_row_count: totalRowCount(),
  },
  { title: 'AbridgedVideoView', description: 'The most important fields of a view' },
);

const ExportResponse = Fields(
  {
    export_date: Text({ format: 'date', description: 'The day (UTC) on which the views began' }),
    files: List(
      Fields({
        path: Text({ format: 'uri', description: 'URL of the file, valid for six hours' }),
        type: Text({ description: 'Format of the file: `csv`' }),
        version: Integer({ description: 'Version of the columns. Later versions add columns at the end' }),
      }),
      { description: 'The files of the day' },
    ),
  },
  { title: 'VideoViewExport', description: 'The views of a day as a file' },
);

const unknown: Readonly<Record<FieldKind, unknown>> = {
  ...{ text: null, number: null, share: null, flag: false, 'flag?': null, list: [] },
  time: '2026-01-01T08:00:00.000Z',
};

/** A view of which little is known. */
const example = {
  ...Object.fromEntries(Object.entries(viewFields).map(([name, { kind }]) => [name, unknown[kind]])),
  ...{ id: VIEW_ID, view_id: VIEW_ID, environment_id: 'k3x9ab', property_id: 0, short_time: '08:00' },
  ...{ view_end: '2026-01-01T08:04:12.400Z', updated_at: '2026-01-01T08:04:12.400Z', session_id: VIEW_ID },
  ...{ mux_viewer_id: '6d3c', mux_api_version: '2.1', video_title: 'Harbor walk', country_code: 'DE' },
  ...{ watched: true, watch_time: 252_400, view_playing_time: '248100', time_to_first_frame: 512 },
  events: [
    { name: 'playing', event_time: 1_767_254_400_512, viewer_time: 1_767_254_400_512, playback_time: 0, details: {} },
  ],
};

const views = { tag: 'Video views' } as const;

export const viewsApi: ApiPart = {
  operations: {
    listVideoViews: { method: 'GET', path: '/data/v1/video-views', permission: 'data:read', success: 200 },
    getVideoView: { method: 'GET', path: '/data/v1/video-views/:viewId', permission: 'data:read', success: 200 },
    listViewExports: { method: 'GET', path: '/data/v1/exports/views', permission: 'data:read', success: 200 },
  },
  descriptions: {
    listVideoViews: {
      ...views,
      summary: 'List video views',
      details: 'Those that ended in the time frame, the last ones first.',
      query: {
        ...paging(),
        ...viewSelection(),
        error_id: Text({ description: 'Only views that ended with this error, or with `any`' }),
        viewer_id: Text({ description: 'Only views of this viewer, as the player or the page names them' }),
        order_direction: Text({ description: 'Order of their ends: `asc` or `desc`, the default' }),
      },
      response: listWithTimeframe(AbridgedVideoViewResponse),
    },
    getVideoView: {
      ...views,
      summary: 'Retrieve a video view',
      details: 'Returns all that is known of the view, also while it continues. Unknown values are `null`.',
      response: withTimeframe(VideoViewResponse),
    },
    listViewExports: {
      ...views,
      summary: 'List exports of video views',
      details: 'A CSV file for each past day (UTC) on which views began, newest first.',
      response: withTimeframe(List(ExportResponse, { description: 'The days, newest first' })),
    },
  },
  pathParameters: { viewId: 'ID of the view, as the player made it' },
  examples: {
    VideoView: example,
    AbridgedVideoView: {
      id: VIEW_ID,
      view_start: '2026-01-01T08:00:00.000Z',
      view_end: '2026-01-01T08:04:12.400Z',
      video_title: 'Harbor walk',
      viewer_application_name: 'Chrome',
      viewer_os_family: 'Windows',
      country_code: 'DE',
      watch_time: 252_400,
      viewer_experience_score: 92.5,
      playback_failure: false,
      error_type_id: null,
      player_error_code: null,
      player_error_message: null,
      total_row_count: 1,
    },
    VideoViewExport: {
      export_date: '2026-01-01',
      files: [
        {
          path: 'https://video.example.org/artifacts/views/k3x9ab/2026-01-01.csv?expires=1767400000&sig=c2lnbmF0dXJl',
          type: 'csv',
          version: 1,
        },
      ],
    },
  },
  examplesAfter: {},
};

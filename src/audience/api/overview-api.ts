import { type TSchema, Type } from 'typebox';
import type { ApiPart } from '../../api/openapi/api-part.js';
import { timeframe } from '../../api/openapi/description.js';
import { one } from '../../api/schemas/response.js';
import { overviewExamples } from './overview-examples.js';
import { CurrentViewersResponse, OverviewResponse, RetentionResponse } from './overview-responses.js';

const tag = 'Audience' as const;
const read = { method: 'GET', permission: 'data:read', success: 200 } as const;
const when = timeframe('Start and end in Unix seconds, or a duration such as `7:days`; by default, the last 24 hours');
const withPeriod = (resource: TSchema) =>
  Type.Object({
    ...one(resource).properties,
    timeframe: Type.Array(Type.Integer(), {
      minItems: 2,
      maxItems: 2,
      description: 'Start and end of the period that the figures cover, in Unix seconds',
    }),
  });
const subject = {
  asset_id: Type.String({ description: 'Only views of this asset' }),
  live_stream_id: Type.String({ description: 'Only views of this live stream' }),
};

export const overviewApi: ApiPart = {
  operations: {
    getAudienceOverview: { ...read, path: '/data/v1/overview' },
    getCurrentViewers: { ...read, path: '/data/v1/viewers' },
    getAssetRetention: { ...read, path: '/data/v1/assets/:assetId/retention' },
  },
  descriptions: {
    getAudienceOverview: {
      tag,
      summary: 'Retrieve an overview of the audience',
      details:
        'Views, times, failures and what viewers use, with points for each hour, or for each day if the time is longer than three days. It begins with the hour or day of its start.',
      query: { ...when, ...subject },
      response: withPeriod(OverviewResponse),
    },
    getCurrentViewers: {
      tag,
      summary: 'Retrieve the number of viewers',
      details: 'Who watches at this moment, by live stream, and how many did in the last 30 minutes.',
      query: subject,
      response: one(CurrentViewersResponse),
    },
    getAssetRetention: {
      tag,
      summary: 'Retrieve the retention of an asset',
      details: 'How many views still watch at each time of the asset, and how often each part was played.',
      query: when,
      response: withPeriod(RetentionResponse),
    },
  },
  pathParameters: {},
  examples: overviewExamples,
  examplesAfter: {},
};

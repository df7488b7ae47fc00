import type { Window } from '../../domain/usage/list-delivery-usage.js';
import { lastOf } from '../../lib/last-of.js';
import { Problems } from '../../lib/problems.js';
import { readViewTimeframe } from './timeframe.js';

const MAX_DAYS = 400;

export interface OverviewRequest {
  readonly window: Window;
  readonly assetId: string | undefined;
  readonly liveStreamId: string | undefined;
}

/**
 * Parameters of GET /data/v1/overview.
 * @throws KinoraError `invalid_parameters`
 */
export const readOverviewQuery = (query: Readonly<Record<string, unknown>>, now: Date): OverviewRequest => {
  const problems = new Problems();
  const request = { ...readSubject(query, problems), window: readViewTimeframe(query, now, problems) };
  const [start, end] = request.window;
  if (end - start > MAX_DAYS * 86_400)
    problems.addSentence(['timeframe[]'], `timeframe must be at most ${MAX_DAYS} days long`);
  problems.throwIfAny(query);
  return request;
};

/**
 * Parameters of GET /data/v1/viewers.
 * @throws KinoraError `invalid_parameters`
 */
export const readViewersQuery = (query: Readonly<Record<string, unknown>>): Omit<OverviewRequest, 'window'> => {
  const problems = new Problems();
  const subject = readSubject(query, problems);
  problems.throwIfAny(query);
  return subject;
};

const readSubject = (query: Readonly<Record<string, unknown>>, problems: Problems) => {
  const [assetId, liveStreamId] = ['asset_id', 'live_stream_id'].map((name) => lastOf(query[name]) || undefined);
  if (assetId !== undefined && liveStreamId !== undefined)
    problems.addSentence(['asset_id'], 'asset_id and live_stream_id cannot be used together');
  return { assetId, liveStreamId };
};

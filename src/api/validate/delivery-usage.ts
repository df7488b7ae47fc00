import type { DeliveryUsageQuery, Window } from '../../domain/usage/list-delivery-usage.js';
import { lastOf } from '../../lib/last-of.js';
import { Problems } from '../../lib/problems.js';
import { readPage } from './list-query.js';
import { readTimeframe } from './timeframe.js';

const LIMITS = { default: 100, max: 100 };
const HOUR_SECONDS = 3600;
const MAX_AGE_SECONDS = 90 * 24 * HOUR_SECONDS;
/** Tolerance for callers that compute "90 days ago" shortly before the request arrives. */
const AGE_TOLERANCE_SECONDS = 10;

/**
 * Parameters of GET /video/v1/delivery-usage. The default timeframe is the hour from 13 to 12 hours
 * before `now`.
 * @throws KinoraError `invalid_parameters`
 */
export const validateDeliveryUsageQuery = (query: Readonly<Record<string, unknown>>, now: Date): DeliveryUsageQuery => {
  const problems = new Problems();
  const page = readPage(query, problems, LIMITS);
  const assetId = lastOf(query.asset_id);
  const liveStreamId = lastOf(query.live_stream_id);
  if (assetId !== undefined && liveStreamId !== undefined) {
    problems.addSentence(['asset_id'], 'asset_id and live_stream_id cannot be used together');
  }
  const nowSeconds = Math.floor(now.getTime() / 1000);
  const window = readWindow(query, nowSeconds, problems);
  problems.throwIfAny(query);
  return { page, window, assetId, liveStreamId };
};

const readWindow = (query: Readonly<Record<string, unknown>>, nowSeconds: number, problems: Problems): Window => {
  const byDefault: Window = [nowSeconds - 13 * HOUR_SECONDS, nowSeconds - 12 * HOUR_SECONDS];
  const { values, path, window } = readTimeframe(query);
  if (values.length === 0) return byDefault;
  if (!window) {
    problems.addSentence(path, 'timeframe must be an array of two Unix timestamps');
    return byDefault;
  }
  const [start, end] = window;
  if (start >= end) problems.addSentence(path, 'timeframe start must be before timeframe end');
  if (start < nowSeconds - MAX_AGE_SECONDS - AGE_TOLERANCE_SECONDS) {
    problems.addSentence(path, 'timeframe cannot start more than 90 days ago');
  }
  return window;
};

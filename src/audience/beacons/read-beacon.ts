import type { ViewEvent, ViewRange } from '../../db/schema.js';
import { KinoraError } from '../../lib/errors.js';
import { isId, isShortId } from '../../lib/ids.js';
import { MAX_RANGES } from '../reported-values.js';
import { eventDetails, eventKeys, type FieldRule, fieldRules, initialNames } from './beacon-fields.js';
import { boundedInteger, boundedNumber, boundedText, readFlag } from './bounded-values.js';
import { mergeViews, type PartialView, type ViewError } from './partial-view.js';

/** Players send at most so many. */
const MAX_BEACON_EVENTS = 300;
/** A player has one view at a time, and a new one for each video. */
const MAX_BEACON_VIEWS = 5;
const MAX_TEXT = 1000;
const MAX_URL = 2000;
const MAX_NAME = 64;
/** An index has at most 2,700 bytes for a row. */
const MAX_ID = 255;
const MAX_MESSAGE = 500;
/** A view has many events. */
const MAX_EVENT_TEXT = 200;
/** More than 300 ranges of a day have. */
const MAX_RANGES_TEXT = 10_000;
const DAY_MS = 24 * 60 * 60_000;
/**
 * Clocks of viewers are corrected by multiples of this. A correction by less would give the events
 * other times when a player repeats a request, because no two requests take the same time.
 */
const CLOCK_STEP_MS = 10_000;
/** Of a live stream. */
const MAX_LATENCY_MS = 10 * 60_000;

const VIEW_ID = /^[A-Za-z0-9_.:-]{1,100}$/;
const EVENT_NAME = /^[A-Za-z]{1,64}$/;
/** Players send them all the time, and what they tell is in the metrics. */
const NOT_KEPT = new Set(['hb', 'requestcompleted', 'requestfailed', 'requestcanceled']);
/** Other events may precede the request for playback, even heartbeats. */
const STARTED = new Set(['viewstart', 'play', 'playing', 'rebufferstart', 'rebufferend']);

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads what a player sent, and returns what it tells of each view. Nothing in it is trusted:
 * unknown fields are ignored, texts cut, numbers limited and times kept near `nowMs`.
 * @param nowMs milliseconds since 1970
 * @throws KinoraError `invalid_parameters`
 */
export const readBeacon = (body: Uint8Array, nowMs: number): PartialView[] => {
  const { events, shiftMs } = parse(body, nowMs);
  const views = new Map<string, PartialView>();
  for (const fields of events) {
    const event = readEvent(fields, shiftMs, nowMs);
    if (!event) continue;
    const key = `${event.environmentId} ${event.id}`;
    const view = views.get(key);
    if (view) mergeViews(view, event);
    else if (views.size < MAX_BEACON_VIEWS) views.set(key, event);
  }
  return [...views.values()];
};

const parse = (body: Uint8Array, nowMs: number): { readonly events: readonly Fields[]; readonly shiftMs: number } => {
  let beacon: unknown;
  try {
    beacon = JSON.parse(new TextDecoder().decode(body));
  } catch (cause) {
    throw invalid('The beacon is not valid JSON', cause);
  }
  if (!isObject(beacon) || !Array.isArray(beacon.events)) throw invalid('The beacon has no list of events');
  if (beacon.events.length > MAX_BEACON_EVENTS) throw invalid(`The beacon has more than ${MAX_BEACON_EVENTS} events`);
  const sentAtMs = isObject(beacon.metadata) ? boundedNumber(beacon.metadata.transmission_timestamp) : undefined;
  const shiftMs = sentAtMs === undefined ? 0 : Math.round((nowMs - sentAtMs) / CLOCK_STEP_MS) * CLOCK_STEP_MS;
  return { events: beacon.events.filter(isObject), shiftMs };
};

const invalid = (message: string, cause?: unknown): KinoraError =>
  new KinoraError('invalid_parameters', { messages: [message], cause });

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Undefined for an event that belongs to no view. */
const readEvent = (fields: Fields, shiftMs: number, nowMs: number): PartialView | undefined => {
  const { [eventKeys.view]: id, [eventKeys.name]: name } = fields;
  if (typeof id !== 'string' || !VIEW_ID.test(id) || typeof name !== 'string' || !EVENT_NAME.test(name))
    return undefined;
  const environmentId = boundedText(fields[eventKeys.environment], MAX_NAME);
  if (environmentId !== undefined && !isShortId(environmentId)) return undefined;
  const timeOf = (value: unknown): number => {
    const ms = boundedNumber(value);
    const shifted = ms === undefined ? nowMs : Math.round(ms + shiftMs);
    return Math.min(Math.max(shifted, nowMs - DAY_MS), nowMs + CLOCK_STEP_MS);
  };
  const time = timeOf(fields[eventKeys.time]);
  const viewStart = fields[eventKeys.viewStart];
  const watchedMs = boundedInteger(fields[eventKeys.watchTime]) ?? 0;
  const error = name === 'error' ? errorOf(fields) : undefined;
  // A video that plays by itself and fails never requests playback.
  const isStarted = viewStart !== undefined || STARTED.has(name) || watchedMs > 0 || error?.isFailure === true;
  // Without its first report, a view began at least so long ago. Players date the start of
  // rebuffering back, but not what was watched until then.
  const atLeastMs = name === 'rebufferstart' ? 0 : watchedMs;
  const startedAtMs = viewStart === undefined ? time - atLeastMs : timeOf(viewStart);
  const playhead = boundedInteger(fields[eventKeys.playhead]) ?? 0;
  const view: PartialView = {
    environmentId,
    id,
    sequence: boundedInteger(fields[eventKeys.sequence]) ?? 0,
    startedAtMs: isStarted ? Math.min(Math.max(startedAtMs, nowMs - DAY_MS), nowMs) : undefined,
    // By the event: reports arrive in any order.
    seenAtMs: Math.min(time, nowMs),
    endedAtMs: name === 'viewend' ? Math.min(time, nowMs) : undefined,
    playbackId: playbackIdOf(fields),
    viewerId: boundedText(fields[eventKeys.userId] ?? fields[eventKeys.viewerId], MAX_ID),
    sessionId: boundedText(fields[eventKeys.viewSession], MAX_ID),
    error,
    dimensions: new Map(),
    details: new Map(),
    metrics: new Map(),
    ranges: rangesOf(fields[eventKeys.playedRanges]),
    events: NOT_KEPT.has(name) ? [] : [[name, time, playhead, detailsOf(name, fields)]],
  };
  for (const [key, value] of Object.entries(fields)) {
    const rule = fieldRules.get(key);
    if (rule) store(view, rule, value);
    const initialName = initialNames.get(key);
    // The first rendition has no size until its first frame is decoded.
    const initial = typeof value === 'number' ? boundedNumber(value) || undefined : boundedText(value, MAX_NAME);
    if (initialName !== undefined && initial !== undefined) view.details.set(initialName, initial);
  }
  storeDerived(view, fields, time);
  return view;
};

const store = ({ metrics, dimensions, details }: PartialView, rule: FieldRule, value: unknown): void => {
  if (rule.into === 'metrics') {
    const number = rule.kind === 'integer' ? boundedInteger(value) : boundedNumber(value);
    if (number !== undefined) metrics.set(rule.name, number);
    return;
  }
  if (rule.kind === 'number') {
    const number = boundedNumber(value);
    if (number !== undefined) details.set(rule.name, number);
    return;
  }
  if (rule.kind === 'text' || rule.kind === 'url') {
    const texts = Array.isArray(value) ? value.filter((part) => typeof part === 'string').join() : value;
    const text = boundedText(texts, rule.kind === 'url' ? MAX_URL : MAX_TEXT);
    if (text !== undefined) (rule.into === 'dimensions' ? dimensions : details).set(rule.name, text);
    return;
  }
  const flag = readFlag(value);
  if (flag === undefined || (rule.kind === 'once' && !flag)) return;
  if (rule.into === 'dimensions') dimensions.set(rule.name, String(flag));
  else details.set(rule.name, flag);
};

const storeDerived = ({ metrics, dimensions, details }: PartialView, fields: Fields, time: number): void => {
  // Without the query: whoever has the token in it can play.
  const source = boundedText(fields[eventKeys.sourceUrl], MAX_URL)?.replace(/[?#].*/s, '');
  if (source) details.set('player_source_url', source);
  const page = boundedText(fields[eventKeys.pageUrl], MAX_URL);
  if (page) dimensions.set('page_url', page);
  const isLive = readFlag(fields[eventKeys.isLive]);
  if (fields[eventKeys.streamType] === undefined && isLive !== undefined)
    dimensions.set('stream_type', isLive ? 'live' : 'on-demand');
  const latencyMs = time - (boundedNumber(fields[eventKeys.programTime]) ?? Number.POSITIVE_INFINITY);
  if (latencyMs >= 0 && latencyMs < MAX_LATENCY_MS) metrics.set('live_latency', latencyMs);
};

/** What may be one: the database knows whether it is. */
const playbackIdOf = (fields: Fields): string | undefined => {
  const { [eventKeys.sourceUrl]: url, [eventKeys.videoId]: videoId } = fields;
  const [, ofUrl] = (typeof url === 'string' && /^https?:\/\/[^/?#]+\/([A-Za-z0-9]+)(?![A-Za-z0-9_-])/.exec(url)) || [];
  return [ofUrl, videoId].find((id): id is string => typeof id === 'string' && isId(id));
};

const errorOf = (fields: Fields): ViewError => ({
  code: boundedText(fields[eventKeys.errorCode], MAX_NAME) ?? '',
  message: boundedText(fields[eventKeys.errorMessage], MAX_MESSAGE) ?? '',
  isFailure: fields[eventKeys.errorSeverity] !== 'warning',
  isBusinessException: readFlag(fields[eventKeys.isBusinessException]) ?? false,
});

const detailsOf = (name: string, fields: Fields): ViewEvent[3] => {
  const details = (eventDetails.get(name) ?? []).flatMap(([key, detail]): [string, string | number][] => {
    const { [key]: value } = fields;
    const text = typeof value === 'number' ? boundedNumber(value) : boundedText(value, MAX_EVENT_TEXT);
    return text === undefined ? [] : [[detail, text]];
  });
  return details.length === 0 ? null : Object.fromEntries(details);
};

/** Players send all ranges each time, as a JSON list of texts such as `0:2500`. */
const rangesOf = (value: unknown): ViewRange[] => {
  if (typeof value !== 'string') return [];
  return [...value.slice(0, MAX_RANGES_TEXT).matchAll(/"(\d{1,10}):(\d{1,10})"/g)]
    .map(([, from, to]): ViewRange => [boundedInteger(from)!, boundedInteger(to)!])
    .filter(([from, to]) => from < to)
    .slice(0, MAX_RANGES);
};

import type { ViewEvent } from '../../db/schema.js';
import type { ListedView, StoredView } from '../tables/video-view.js';
import { type FieldKind, type ViewField, viewFields } from './view-fields.js';

const rawValue = (view: StoredView, name: string, source: ViewField['source'] = name): unknown =>
  typeof source === 'function' ? source(view) : (view.details[source] ?? view.dimensions[source]);

const numberOf = (value: unknown): number | null => {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
};

const isTrue = (value: unknown): boolean => value === true || value === 'true' || value === '1' || value === 1;

/** A value as its field sends it. Players may report anything, so none is sent as it is. */
const fieldValue = (kind: FieldKind, value: unknown): unknown => {
  const isUnknown = value === null || value === undefined || value === '';
  switch (kind) {
    case 'text':
      return value === null || value === undefined ? null : String(value);
    case 'number':
      return numberOf(value);
    case 'share': {
      const number = numberOf(value);
      return number === null ? null : String(number);
    }
    case 'flag':
      return isTrue(value);
    case 'flag?':
      return isUnknown ? null : isTrue(value);
    case 'list':
      return isUnknown ? [] : String(value).split(',');
    case 'time':
      return (value as Date).toISOString();
  }
};

const serializeEvent = ([name, timeMs, playheadMs, details]: ViewEvent): object => ({
  name,
  event_time: timeMs,
  viewer_time: timeMs,
  playback_time: playheadMs,
  details: details ?? {},
});

/** All fields of a view, in the order of `viewFields`. */
export const serializeView = (view: StoredView): Record<string, unknown> => ({
  ...Object.fromEntries(
    Object.entries(viewFields).map(([name, { kind, source }]) => [
      name,
      fieldValue(kind, rawValue(view, name, source)),
    ]),
  ),
  events: view.events.map(serializeEvent),
});

/** @param total the number of views on all pages */
export const serializeListedView = (view: ListedView, total: number): object => {
  const { dimensions, is_playback_failure, is_startup_failure, is_business_exception } = view;
  return {
    id: view.id,
    view_start: view.started_at.toISOString(),
    view_end: (view.ended_at ?? view.seen_at).toISOString(),
    video_title: dimensions.video_title ?? null,
    viewer_application_name: dimensions.browser ?? null,
    viewer_os_family: dimensions.operating_system ?? null,
    country_code: dimensions.country ?? null,
    watch_time: view.watch_time,
    viewer_experience_score: view.viewer_experience_score,
    playback_failure: (is_playback_failure || is_startup_failure) && !is_business_exception,
    error_type_id: view.error_id,
    player_error_code: dimensions.player_error_code ?? null,
    player_error_message: view.player_error_message,
    total_row_count: total,
  };
};

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isKinoraError } from '../../lib/errors.js';
import { MAX_EVENTS } from '../reported-values.js';
import { storedFields } from './beacon-fields.js';
import { shortKey } from './key-words.js';
import { mergeViews, type PartialView } from './partial-view.js';
import { readBeacon } from './read-beacon.js';

const nowMs = Date.UTC(2026, 4, 20, 12);
const playbackId = 'a'.repeat(40);

const bodyOf = (events: readonly object[], sentAtMs: unknown = nowMs): Buffer =>
  Buffer.from(JSON.stringify({ metadata: { transmission_timestamp: sentAtMs }, events }));

/** An event with these fields, named in full. */
const eventOf = (fields: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(
    Object.entries({ env_key: 'abc123', view_id: 'view', event: 'viewstart', ...fields }).map(([name, value]) => [
      shortKey(name),
      value,
    ]),
  );

const readOne = (fields: Readonly<Record<string, unknown>>, sentAtMs: unknown = nowMs): PartialView => {
  const [view] = readBeacon(bodyOf([eventOf({ viewer_time: nowMs, ...fields })], sentAtMs), nowMs);
  return view!;
};

describe('readBeacon', () => {
  it('reads metrics, dimensions, details, ranges and events', () => {
    const view = readOne({
      event: 'renditionchange',
      ...{ view_start: nowMs - 5000, view_time_to_first_frame: 412.6, view_max_upscale_percentage: 0.25 },
      ...{ video_title: 'A film', player_autoplay_on: true, player_width: 640, viewer_user_id: 'me', video_cdn: 'x' },
      ...{ video_playback_range: '["0:1000","5000:7000","8000:8000"]', player_playhead_time: 7000 },
      ...{ video_source_bitrate: 900_000, video_source_url: `https://h/${playbackId}.m3u8?token=secret` },
    });
    expect(view).toMatchObject({ environmentId: 'abc123', id: 'view', startedAtMs: nowMs - 5000, playbackId });
    expect(Object.fromEntries(view.metrics)).toEqual({ video_startup_time: 413, max_upscale: 0.25 });
    expect(Object.fromEntries(view.dimensions)).toEqual({
      ...{ video_title: 'A film', player_autoplay: 'true', viewer_user_id: 'me', cdn: 'x' },
    });
    expect(view.viewerId).toBe('me');
    expect(view.details.get('player_source_url')).toBe(`https://h/${playbackId}.m3u8`);
    expect(view.details.get('video_source_bitrate_initial')).toBe(900_000);
    expect(view.ranges).toEqual([
      [0, 1000],
      [5000, 7000],
    ]);
    expect(view.events).toEqual([['renditionchange', nowMs, 7000, { video_source_bitrate: 900_000 }]]);
  });

  it.each([
    ['https://stream.example.org/ID.m3u8', true],
    ['https://stream.example.org/ID.mpd?token=x', true],
    ['https://stream.example.org/ID/1/video.m3u8', true],
    ['https://stream.example.org/ID', true],
    ['https://stream.example.org/ID-more.m3u8', false],
    ['https://stream.example.org/path/ID.m3u8', false],
    ['MSE style URL', false],
  ])('finds the playback ID of %s: %s', (url, isFound) => {
    const view = readOne({ video_source_url: url.replace('ID', playbackId) });
    expect(view.playbackId).toBe(isFound ? playbackId : undefined);
    expect(readOne({ video_source_url: 'MSE style URL', video_id: playbackId }).playbackId).toBe(playbackId);
  });

  it('has not started before playback is requested', () => {
    for (const event of ['playerready', 'hb']) expect(readOne({ event }).startedAtMs).toBeUndefined();
    expect(readOne({ event: 'hb', view_watch_time: 20_000 }).startedAtMs).toBe(nowMs - 20_000);
    // It is dated back.
    expect(readOne({ event: 'rebufferstart', view_watch_time: 20_000 }).startedAtMs).toBe(nowMs);
  });

  it('has started when it fails before', () => {
    expect(readOne({ event: 'error' }).startedAtMs).toBe(nowMs);
    expect(readOne({ event: 'error', player_error_severity: 'warning' }).startedAtMs).toBeUndefined();
  });

  it('keeps the first size of the picture that is known', () => {
    const sizes = [0, 480, 720].map((height) => ({ event: 'renditionchange', video_source_height: height }));
    expect(sizes.map((fields) => readOne(fields).details.get('video_source_height_initial'))).toEqual([
      undefined,
      480,
      720,
    ]);
  });

  it('corrects the clock of the viewer, to the same times when events are sent again', () => {
    const wrongMs = 86_400_000 * 400;
    const fields = { viewer_time: nowMs - wrongMs - 4000, view_start: nowMs - wrongMs - 4000 };
    const views = [0, 900, 2500].map((delayMs) => readOne(fields, nowMs - wrongMs - delayMs));
    expect(views.map(({ events }) => events[0]![1])).toEqual([nowMs - 4000, nowMs - 4000, nowMs - 4000]);
    expect(views[0]!.startedAtMs).toBe(nowMs - 4000);
  });

  it.each([[Number.MAX_VALUE], [-1], ['x'], [null], [{}], [0], [nowMs * 2]])(
    'keeps times near its own whatever the clock of the viewer is: %s',
    (time) => {
      for (const sentAtMs of [nowMs, time]) {
        const view = readOne({ viewer_time: time, view_start: time }, sentAtMs);
        for (const ms of [view.startedAtMs!, view.seenAtMs, view.events[0]![1]]) {
          expect(ms).toBeGreaterThanOrEqual(nowMs - 86_400_000);
          expect(ms).toBeLessThanOrEqual(nowMs + 10_000);
        }
        expect(view.startedAtMs).toBeLessThanOrEqual(nowMs);
      }
    },
  );

  it('cuts texts, and removes what PostgreSQL can not store', () => {
    const view = readOne({
      video_title: `a\0b\ud800${'x'.repeat(5000)}`,
      player_error_code: '\0',
      page_url: 'y'.repeat(9000),
    });
    expect(view.dimensions.get('video_title')!.startsWith('abx')).toBe(true);
    expect(view.dimensions.get('video_title')!.length).toBe(998);
    expect(view.dimensions.get('page_url')!.length).toBe(2000);
    expect(view.dimensions.has('player_error_code')).toBe(false);
  });

  it('ignores events of no view, of impossible environments, and names of prototypes', () => {
    const events = [
      ...[{}, null, 1, [], eventOf({ view_id: undefined }), eventOf({ view_id: {} }), eventOf({ view_id: 'a b' })],
      ...[eventOf({ env_key: '../..' }), eventOf({ env_key: 'ABC123' }), eventOf({ event: '__proto__' })],
    ];
    expect(readBeacon(bodyOf(events as object[]), nowMs)).toEqual([]);
    const body = `{"__proto__":{"x":1},"events":[{"__proto__":{"xid":"v"},"constructor":1,"ake":"abc123","xid":"v","e":"play"}]}`;
    const [view] = readBeacon(Buffer.from(body), nowMs);
    expect(view!.id).toBe('v');
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  it('reads five views of a request at most', () => {
    const events = Array.from({ length: 300 }, (_, i) => eventOf({ view_id: `view-${i}` }));
    expect(readBeacon(bodyOf(events), nowMs)).toHaveLength(5);
  });

  const values = fc.oneof(fc.jsonValue(), fc.double(), fc.string({ unit: 'binary' }), fc.constant('x'.repeat(3000)));
  const names = fc.constantFrom(
    ...storedFields.map(([field]) => field),
    'viewer_time',
    'view_start',
    'video_playback_range',
  );

  it('bounds whatever is sent', () => {
    fc.assert(
      fc.property(fc.dictionary(names, values), values, (fields, sentAtMs) => {
        const [view] = readBeacon(bodyOf([eventOf({ ...fields, view_id: 'v', event: 'error' })], sentAtMs), nowMs);
        for (const [name, text] of [...view!.dimensions, ...view!.details]) {
          expect(String(text).length).toBeLessThanOrEqual(/url|poster/.test(name) ? 2000 : 1000);
          expect(String(text)).not.toMatch(/\0|\p{Cs}/u);
        }
        for (const number of view!.metrics.values()) expect(number).toSatisfy((n: number) => n >= 0 && n <= 1e15);
      }),
    );
  });

  it('throws nothing but a refusal', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((text) => Buffer.from(text)),
        ),
        (body) => {
          try {
            readBeacon(body, nowMs);
          } catch (error) {
            expect(isKinoraError(error, 'invalid_parameters')).toBe(true);
          }
        },
      ),
    );
  });
});

describe('mergeViews', () => {
  const partOf = (sequence: number, fields: Readonly<Record<string, unknown>>): PartialView =>
    readOne({ event: 'pause', viewer_time: nowMs + sequence, view_sequence_number: sequence, ...fields });

  const fieldsOf = (sequence: number) => ({
    view_watch_time: sequence * 10,
    view_average_request_latency: sequence,
    ...(sequence % 3 === 0 && { video_title: `title ${sequence}`, player_width: sequence }),
    ...(sequence % 5 === 0 && { event: 'error', player_error_code: sequence }),
    ...(sequence % 7 === 0 && { event: 'playing' }),
  });
  const merge = (sequence: readonly number[]): PartialView => {
    const [first, ...others] = sequence.map((number) => partOf(number, fieldsOf(number)));
    for (const part of others) mergeViews(first!, part);
    first!.events.sort(([, a], [, b]) => a - b);
    return first!;
  };

  it('gives the same whichever of two reports is first', () => {
    fc.assert(
      fc.property(fc.nat(50), fc.nat(50), (a, b) => {
        fc.pre(a !== b);
        expect(merge([a, b])).toEqual(merge([b, a]));
      }),
    );
  });

  it('gives the same metrics, times and events whatever the order of reports is', () => {
    const numbers = fc.uniqueArray(fc.nat(50), { minLength: 1, maxLength: 8 });
    const valuesOf = ({ metrics, startedAtMs, seenAtMs, endedAtMs, sequence, events }: PartialView) => ({
      ...{ metrics, startedAtMs, seenAtMs, endedAtMs, sequence, events },
    });
    fc.assert(
      fc.property(numbers, (sequence) => {
        expect(valuesOf(merge(sequence))).toEqual(valuesOf(merge(sequence.toSorted((a, b) => a - b))));
      }),
    );
  });

  it('keeps as many events as a view may have, and the last one', () => {
    const view = partOf(0, {});
    for (let sequence = 1; sequence <= MAX_EVENTS + 50; sequence++) mergeViews(view, partOf(sequence, {}));
    mergeViews(view, partOf(1000, { event: 'viewend' }));
    expect(view.events).toHaveLength(MAX_EVENTS);
    expect(view.events.at(-1)![0]).toBe('viewend');
  });
});

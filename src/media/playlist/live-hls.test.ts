import { describe, expect, test } from 'vitest';
import { GrowingTrack, liveAudio, liveVideo } from '../../../test/support/media/live-values.js';
import { LiveRules } from '../../../test/support/players/live-rules.js';
import type { ClosedCaptions } from '../captions/caption-decoder.js';
import type { LiveTimes, LiveTrackState } from '../live/live-track.js';
import {
  existingPlace,
  hasReached,
  initConfig,
  isPlayable,
  isTooFarAhead,
  type LivePlaylistInput,
  liveMediaPlaylist,
  liveMultivariantPlaylist,
} from './live-hls.js';
import { clipOf, readClip, writeClip } from './live-range.js';
import { parsePlaybackModifiers } from './playback-modifiers.js';

const low: LiveTimes = { latencyMode: 'low', targetSeconds: 4, partTargetSeconds: 0.35 };
const standard: LiveTimes = { latencyMode: 'standard', targetSeconds: 4 };
/** Ten frames. */
const PART = 30_000;

const write = (state: LiveTrackState, changes: Partial<LivePlaylistInput> = {}): string =>
  liveMediaPlaylist({
    ...{ state, times: low, firstDiscontinuity: 0, range: 'window', skip: false, others: [], query: '' },
    ...changes,
  })!;
const lines = (state: LiveTrackState, changes: Partial<LivePlaylistInput> = {}) => write(state, changes).split('\n');
const grown = (segments: number, firstNumber = 0): GrowingTrack => {
  const track = new GrowingTrack(liveVideo, firstNumber);
  for (let number = 0; number < segments; number += 1) track.segment(6, PART);
  return track;
};

test('a playlist of text has whole segments without an init segment', () => {
  const track = new GrowingTrack({ ...liveVideo, name: 'text-1', kind: 'text' }, 7);
  track.segment(6, PART);
  expect(lines(track.state)).toEqual([
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    '#EXT-X-TARGETDURATION:4',
    '#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=24,HOLD-BACK=12',
    '#EXT-X-MEDIA-SEQUENCE:7',
    '#EXT-X-DISCONTINUITY-SEQUENCE:0',
    '#EXT-X-INDEPENDENT-SEGMENTS',
    '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T12:00:00.000Z',
    '#EXTINF:2.000000,',
    '7.vtt',
    '',
  ]);
});

test('a playlist of low latency has parts, a hint and reports', () => {
  const track = grown(2, 7);
  track.begin();
  track.part(PART);
  track.part(PART);
  const audio = new GrowingTrack(liveAudio, 7);
  audio.segment(2, 16_000);
  audio.begin();
  audio.part(16_000);
  const others = [
    { uri: '../audio/playlist.m3u8', state: audio.state },
    { uri: '../480p/playlist.m3u8', state: new GrowingTrack(liveVideo).state },
  ];
  expect(lines(track.state, { others, firstDiscontinuity: 3, query: '?signature=x' })).toEqual([
    '#EXTM3U',
    '#EXT-X-VERSION:9',
    '#EXT-X-TARGETDURATION:4',
    '#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=24,PART-HOLD-BACK=1.050,HOLD-BACK=12',
    '#EXT-X-PART-INF:PART-TARGET=0.35',
    '#EXT-X-MEDIA-SEQUENCE:7',
    '#EXT-X-DISCONTINUITY-SEQUENCE:3',
    '#EXT-X-INDEPENDENT-SEGMENTS',
    '#EXT-X-MAP:URI="init-7.mp4?signature=x"',
    '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T12:00:00.000Z',
    ...[7, 8].flatMap((number) => [
      ...[0, 1, 2, 3, 4, 5].map(
        (part) =>
          `#EXT-X-PART:DURATION=${part % 3 === 1 ? '0.333334' : '0.333333'},URI="${number}.${part}.m4s?signature=x"${part === 0 ? ',INDEPENDENT=YES' : ''}`,
      ),
      '#EXTINF:2.000000,',
      `${number}.m4s?signature=x`,
    ]),
    '#EXT-X-PART:DURATION=0.333333,URI="9.0.m4s?signature=x",INDEPENDENT=YES',
    '#EXT-X-PART:DURATION=0.333334,URI="9.1.m4s?signature=x"',
    '#EXT-X-PRELOAD-HINT:TYPE=PART,URI="9.2.m4s?signature=x"',
    '#EXT-X-RENDITION-REPORT:URI="../audio/playlist.m3u8",LAST-MSN=8,LAST-PART=0',
    '',
  ]);
});

test('other modes list complete segments only, and still let players wait', () => {
  const track = grown(2);
  track.begin();
  track.part(PART);
  expect(lines(track.state, { times: standard })).toEqual([
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    '#EXT-X-TARGETDURATION:4',
    '#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=24,HOLD-BACK=12',
    '#EXT-X-MEDIA-SEQUENCE:0',
    '#EXT-X-DISCONTINUITY-SEQUENCE:0',
    '#EXT-X-INDEPENDENT-SEGMENTS',
    '#EXT-X-MAP:URI="init-0.mp4"',
    '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T12:00:00.000Z',
    '#EXTINF:2.000000,',
    '0.m4s',
    '#EXTINF:2.000000,',
    '1.m4s',
    '',
  ]);
});

describe('ranges', () => {
  const listed = (text: string): string[] => text.split('\n').filter((line) => /^\d+\.m4s/.test(line));

  test('the window slides, the whole begins at the start', () => {
    const track = grown(20);
    expect(listed(write(track.state)).at(0)).toBe('5.m4s');
    expect(listed(write(track.state))).toHaveLength(15);
    const event = write(track.state, { range: 'event' });
    expect(listed(event)).toHaveLength(20);
    expect(event).toContain('#EXT-X-PLAYLIST-TYPE:EVENT\n');
    const long = { ...standard, targetSeconds: 20 };
    expect(listed(write(grown(40).state, { times: long }))).toHaveLength(30);
  });

  test('an instant clip has the segments that contain its times, and ends with them', () => {
    const track = grown(20);
    const clip = (query: Record<string, string>) => {
      const modifiers = parsePlaybackModifiers(query, Number.POSITIVE_INFINITY, 'live');
      if ('invalid' in modifiers) throw new Error(modifiers.invalid);
      return readClip(writeClip(clipOf(modifiers)!))!;
    };
    const between = write(track.state, { range: clip({ asset_start_time: '3', asset_end_time: '9' }) });
    expect(listed(between)).toEqual(['1.m4s', '2.m4s', '3.m4s', '4.m4s']);
    expect(between).toContain('#EXT-X-ENDLIST');
    const open = write(track.state, { range: clip({ asset_start_time: '35.5' }) });
    expect(listed(open)).toEqual(['17.m4s', '18.m4s', '19.m4s']);
    expect(open).not.toContain('#EXT-X-ENDLIST');
    const start = Date.parse('2026-01-01T12:00:00Z') / 1000;
    const times = { program_start_time: String(start + 4), program_end_time: String(start + 6.5) };
    expect(listed(write(track.state, { range: clip(times) }))).toEqual(['2.m4s', '3.m4s']);
    const unfinished = write(track.state, { range: clip({ asset_start_time: '38', asset_end_time: '41' }) });
    expect(unfinished).not.toContain('#EXT-X-ENDLIST');
    const future = { range: clip({ asset_start_time: '50' }) };
    expect(write(track.state, future)).toBeUndefined();
  });

  test('what is no clip is not read as one', () => {
    for (const text of ['', 'asset', 'asset_1', 'asset_-1_', 'asset_1e3_2', 'wall_1_2', 'asset_1_2_3'])
      expect(readClip(text)).toBeUndefined();
    expect(parsePlaybackModifiers({ program_start_time: '1' }, 10)).toEqual({
      invalid: 'Invalid parameter: program_start_time',
    });
    expect(parsePlaybackModifiers({ program_start_time: '9', program_end_time: '9' }, 10, 'live')).toEqual({
      invalid: 'Invalid parameter: program_start_time',
    });
  });
});

test('delta updates replace what is older than the skip boundary', () => {
  const track = grown(20);
  const delta = lines(track.state, { range: 'event', skip: true });
  expect(delta).toContain('#EXT-X-SKIP:SKIPPED-SEGMENTS=8');
  expect(delta).toContain('8.m4s');
  expect(delta).not.toContain('7.m4s');
  expect(write(grown(3).state, { skip: true })).not.toContain('SKIP:');
});

test('a track that has ended says so', () => {
  const track = grown(3);
  track.end();
  expect(lines(track.state).slice(-3)).toEqual(['2.m4s', '#EXT-X-ENDLIST', '']);
  expect(write(track.state)).not.toContain('PRELOAD-HINT');
});

test('a dependent segment takes the promise from the whole broadcast', () => {
  const track = grown(1);
  track.begin();
  track.part(PART, false);
  track.complete();
  for (let number = 0; number < 20; number += 1) track.segment(6, PART);
  expect(write(track.state)).not.toContain('INDEPENDENT-SEGMENTS');
  expect(write(track.state, { range: 'event' })).toContain('URI="21.0.m4s",INDEPENDENT=YES');
});

test('after a takeover, files have other URLs than those that the lost server may have sent', () => {
  const { state } = grown(2, 5);
  const segments = [state.segments[0]!, { ...state.segments[1]!, version: 71 }];
  const urls = (query: string): string[] =>
    lines({ ...state, segments, version: 71 }, { query }).flatMap(
      (line) => /URI="([^"]*)"/.exec(line)?.[1] ?? (line.startsWith('#') ? [] : line),
    );
  const parts = (number: number, ending: string): string[] =>
    [...Array(6).keys()].map((part) => `${number}.${part}.${ending}`);
  expect(urls('')).toEqual([
    ...['init-5.mp4', ...parts(5, 'm4s'), '5.m4s', ...parts(6, 'm4s?v=1z'), '6.m4s?v=1z', '7.0.m4s?v=1z', ''],
  ]);
  expect(urls('?signature=x')).toContain('6.m4s?signature=x&v=1z');
  const place = { segment: 12, part: 0 };
  expect([isTooFarAhead(state, low, place), isTooFarAhead({ ...state, version: 71 }, low, place)]).toEqual([
    true,
    false,
  ]);
});

test('an init segment has the number of the first segment that needs it', () => {
  const track = grown(2, 5);
  track.segment(6, PART, { config: 1, discontinuity: true });
  track.segment(6, PART, { config: 0, discontinuity: true });
  expect([5, 6, 7, 8, 9, 4].map((number) => initConfig(track.state, number))).toEqual([
    0,
    undefined,
    1,
    undefined,
    undefined,
    undefined,
  ]);
  const maps = lines(track.state).filter((line) => line.startsWith('#EXT-X-MAP'));
  expect(maps).toEqual(['#EXT-X-MAP:URI="init-5.mp4"', '#EXT-X-MAP:URI="init-7.mp4"', '#EXT-X-MAP:URI="init-5.mp4"']);
});

describe('what requests wait for', () => {
  const track = grown(2, 10);
  track.begin();
  track.part(PART);
  const { state } = track;

  test.each([
    [9, 0, true],
    [10, undefined, true],
    [11, 5, true],
    // There is no such part: it stands for the first one of the next segment.
    [11, 6, true],
    [12, 0, true],
    [12, 1, false],
    [12, undefined, false],
    [13, 0, false],
  ])('segment %s, part %s: %s', (segment, part, expected) => {
    expect(hasReached(state, { segment, part })).toBe(expected);
  });

  test('is not further away than two segments', () => {
    expect(existingPlace(state, { segment: 11, part: 6 })).toEqual({ segment: 12, part: 0 });
    expect(isTooFarAhead(state, low, { segment: 14, part: undefined })).toBe(false);
    expect(isTooFarAhead(state, low, { segment: 15, part: undefined })).toBe(true);
    expect(isTooFarAhead(state, low, { segment: 12, part: 9 })).toBe(false);
    expect(isTooFarAhead(state, low, { segment: 12, part: 10 })).toBe(true);
    // Who takes a broadcast over completes its last segment, of which viewers may know more parts.
    const segments = state.segments.map((segment) => ({ ...segment, complete: true }));
    expect(isTooFarAhead({ ...state, segments }, low, { segment: 12, part: 10 })).toBe(false);
    expect(hasReached({ ...state, ended: true }, { segment: 14, part: 0 })).toBe(true);
  });

  test('a player starts with a segment, or with three parts', () => {
    const young = new GrowingTrack(liveVideo);
    young.begin();
    young.part(PART);
    young.part(PART);
    expect(isPlayable(young.state, low)).toBe(false);
    young.part(PART);
    expect([isPlayable(young.state, low), isPlayable(young.state, standard)]).toEqual([true, false]);
    young.complete();
    expect(isPlayable(young.state, standard)).toBe(true);
  });
});

/** Numbers from 0 to 1 that are the same in each run. */
const randomNumbers = (seed: number) => () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
  return seed / 2 ** 31;
};

test.each([1, 2, 3, 4])('no version of a playlist breaks a rule, whatever is sent (%s)', (seed) => {
  const random = randomNumbers(seed);
  const track = new GrowingTrack(liveVideo, 1000);
  const followed = (['window', 'event'] as const).flatMap((range) =>
    [low, standard].flatMap((times) =>
      [false, true].map((skip) => ({ range, times, skip, rules: new LiveRules(), isFirst: true })),
    ),
  );
  const check = (): void => {
    for (const playlist of followed) {
      if (!isPlayable(track.state, playlist.times)) continue;
      const { range, times } = playlist;
      const skip = playlist.skip && !playlist.isFirst;
      expect(playlist.rules.check(write(track.state, { range, times, skip, firstDiscontinuity: 2 }))).toEqual([]);
      playlist.isFirst = false;
    }
  };
  for (let segment = 0; segment < 40; segment += 1) {
    const discontinuity = segment > 0 && random() < 0.1;
    const config = (track.last?.config ?? 0) + (discontinuity && random() < 0.5 ? 1 : 0);
    track.begin({ discontinuity, config, gapMs: discontinuity ? 5000 * random() : 0 });
    const parts = 3 + Math.floor(random() * 7);
    const independent = random() > 0.05;
    for (let part = 0; part < parts; part += 1) {
      const last = part === parts - 1;
      track.part(last ? 3003 * (1 + Math.floor(random() * 9)) : 3003 * 10, part === 0 && independent);
      check();
    }
    track.complete();
    check();
  }
  track.end();
  check();
});

test('text that is kept of a long broadcast is that which is written without it', () => {
  const track = new GrowingTrack(liveVideo, 1000);
  // Only playlists without a query are kept.
  const compare = (): void => {
    const unkept = write(track.state, { range: 'event', query: '?x' });
    expect(write(track.state, { range: 'event' })).toBe(unkept.replaceAll('?x', ''));
  };
  for (let number = 0; number < 900; number += 1) {
    const discontinuity = number % 97 === 96;
    track.begin({ discontinuity, config: Math.floor(number / 97) % 3, gapMs: discontinuity ? 700 : 0 });
    for (let part = 0; part < 3; part += 1) track.part(PART);
    track.complete();
    if (number % 50 === 49) compare();
  }
  compare();
  const clip = { clock: 'asset', startSeconds: 100, endSeconds: 700 } as const;
  expect(write(track.state, { range: clip })).toBe(
    write(track.state, { range: clip, query: '?x' }).replaceAll('?x', ''),
  );
  track.end();
  compare();
});

test('the multivariant playlist lists the copied rung first', () => {
  const tracks = [
    new GrowingTrack(liveVideo).state,
    new GrowingTrack({ ...liveVideo, name: '480p', width: 854, height: 480, bandwidth: 1_000_000 }).state,
    new GrowingTrack({ ...liveVideo, name: '270p', width: 480, height: 270, bandwidth: 400_000 }).state,
    new GrowingTrack(liveAudio).state,
  ];
  const list = (query: Record<string, string>, of = tracks, captions: ClosedCaptions[] = []): string[] => {
    const modifiers = parsePlaybackModifiers(query, Number.POSITIVE_INFINITY, 'live');
    if ('invalid' in modifiers) throw new Error(modifiers.invalid);
    const uri = (child: { kind: string; rendition?: string }) => `live/${child.rendition}`;
    return liveMultivariantPlaylist({ tracks: of, modifiers, title: 'Harbor', captions, uri }).split('\n');
  };
  expect(list({})).toEqual([
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    '#EXT-X-INDEPENDENT-SEGMENTS',
    '#EXT-X-SESSION-DATA:DATA-ID="com.apple.hls.title",VALUE="Harbor"',
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aud",NAME="Default",LANGUAGE="und",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="live/audio"',
    '#EXT-X-STREAM-INF:BANDWIDTH=3130000,RESOLUTION=1280x720,FRAME-RATE=30.000,CODECS="avc1.64001f,mp4a.40.2",AUDIO="aud",CLOSED-CAPTIONS=NONE',
    'live/720p',
    '#EXT-X-STREAM-INF:BANDWIDTH=530000,RESOLUTION=480x270,FRAME-RATE=30.000,CODECS="avc1.64001f,mp4a.40.2",AUDIO="aud",CLOSED-CAPTIONS=NONE',
    'live/270p',
    '#EXT-X-STREAM-INF:BANDWIDTH=1130000,RESOLUTION=854x480,FRAME-RATE=30.000,CODECS="avc1.64001f,mp4a.40.2",AUDIO="aud",CLOSED-CAPTIONS=NONE',
    'live/480p',
    '',
  ]);
  const names = (query: Record<string, string>, of = tracks) => list(query, of).filter((line) => /^live/.test(line));
  expect(names({ rendition_order: 'desc' })).toEqual(['live/720p', 'live/480p', 'live/270p']);
  expect(names({ max_resolution: '480p' })).toEqual(['live/270p', 'live/480p']);
  expect(names({ add_audio_only: 'true', min_resolution: '720p' })).toEqual(['live/720p', 'live/audio']);
  expect(names({}, tracks.slice(3))).toEqual(['live/audio']);
  expect(names({ redundant_streams: 'true', min_resolution: '720p' })).toEqual(['live/720p', 'live/720p']);
  const captions = [
    { name: 'CC', languageCode: 'en', channel: 'cc1' },
    { name: 'CC', languageCode: 'fr', channel: 'cc3' },
  ] as const;
  const captioned = list({}, tracks, [...captions]);
  const media = captioned.filter((line) => line.includes('TYPE=CLOSED-CAPTIONS')).join('\n');
  expect(media).toMatch(/NAME="CC",LANGUAGE="en".*INSTREAM-ID="CC1".*\n.*NAME="CC \(2\)".*INSTREAM-ID="CC3"/);
  const groups = captioned.flatMap((line) => /CLOSED-CAPTIONS=(\S+)/.exec(line)?.[1] ?? []);
  expect(groups).toEqual(['"cc"', '"cc"', '"cc"']);
  expect(list({}, tracks.slice(3), [...captions]).join()).not.toContain('CLOSED-CAPTIONS');
});

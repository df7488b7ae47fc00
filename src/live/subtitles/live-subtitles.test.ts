import { expect, it, vi } from 'vitest';
import type { LiveFeed } from '../../domain/playback/live-feed.js';
import type { LiveSegment, LiveTrackState } from '../../media/live/live-track.js';
import { LiveSubtitlesTrack } from './live-subtitles.js';

const segment = (number: number, timescale: number): LiveSegment => ({
  ...{ number, startTicks: number * timescale, durationTicks: timescale, wallMs: 0, config: 0 },
  ...{ discontinuity: false, independent: true, parts: [], complete: true },
});

const track = (kind: 'audio' | 'video', timescale: number, numbers: readonly number[]): LiveTrackState => ({
  info: { name: kind, kind, timescale, codecs: '', bandwidth: 0 },
  segments: numbers.map((number) => segment(number, timescale)),
  ended: true,
});

it('keeps to the segments of audio when video comes later', async () => {
  const tracks = new Map([['audio', { ...track('audio', 48_000, [0, 1]), ended: false }]]);
  const feed = {
    ...{ assetId: 'asset', times: { latencyMode: 'standard', targetSeconds: 1 }, firstDiscontinuity: 0, captions: [] },
    get trackNames() {
      return tracks.has('video') ? ['video', 'audio'] : ['audio'];
    },
    track: (name: string) => tracks.get(name),
    waitFor: async () => true,
    init: () => undefined,
    read: async () => undefined,
  } satisfies LiveFeed;
  const store = vi.fn(async () => {});
  const logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => logger };
  const deps = {
    ...{ texts: { store }, logger, pool: { run: vi.fn() }, temporaryDir: '' },
    transcriber: { check: vi.fn(), transcribe: vi.fn() },
    clock: { now: () => new Date(0), monotonicMs: () => 0 },
  };
  const options = { trackId: 'text', name: 'English', languageCode: 'en', phrases: [], feed, onChange() {} };
  const subtitles = new LiveSubtitlesTrack(deps as never, options, false);
  tracks.set('video', track('video', 90_000, [0, 1, 2, 3]));
  tracks.set('audio', track('audio', 48_000, [0, 1, 2]));
  subtitles.note();
  await subtitles.finish();
  expect(subtitles.state.info.timescale).toBe(48_000);
  expect(subtitles.state.segments.map(({ startTicks }) => startTicks / 48_000)).toEqual([0, 1, 2]);
});

import type Hls from 'hls.js';
import { expect, test } from 'vitest';
import { LiveEdge } from './live-edge.js';
import { Timeline } from './timeline.js';

/** A live stream of a minute, with a player at its edge. */
const watch = ({ isFollowing = true } = {}) => {
  const listeners: (() => void)[] = [];
  const video = {
    ...{ currentTime: 59, duration: Number.POSITIVE_INFINITY, paused: false, seeking: false },
    seekable: { length: 1, start: () => 0, end: () => 60 },
    addEventListener: (_: string, listener: () => void) => listeners.push(listener),
    play: async () => {
      video.paused = false;
    },
  };
  const hls = { liveSyncPosition: 59 };
  const edge = new LiveEdge(video as never, hls as Hls, isFollowing);
  const pause = (): void => {
    video.paused = true;
    for (const listener of listeners) listener();
  };
  return { video, hls, edge, pause, timeline: new Timeline(video as never, edge) };
};

test('an interruption brings those back to the edge who were there', () => {
  const { video, hls, edge } = watch();
  hls.liveSyncPosition = 62;
  expect(edge.secondsBehind).toBe(0);
  hls.liveSyncPosition = 80;
  expect(edge.secondsBehind).toBe(21);
  edge.follow();
  expect(video.currentTime).toBe(80);
});

test('who paused or went back stays there, until they come back', () => {
  const { video, hls, edge, pause, timeline } = watch();
  pause();
  hls.liveSyncPosition = 80;
  video.paused = false;
  edge.follow();
  expect([video.currentTime, edge.secondsBehind]).toEqual([59, 21]);
  expect(timeline.describe()).toEqual(['−0:21', '0:21 behind live']);
  edge.go();
  expect(video.currentTime).toBe(80);
  expect(timeline.describe()).toEqual(['', 'Live']);
  timeline.seek(30);
  edge.follow();
  expect(video.currentTime).toBe(30);
  timeline.seek(1000);
  expect(video.currentTime).toBe(80);
  edge.follow();
  hls.liveSyncPosition = 100;
  edge.follow();
  expect(video.currentTime).toBe(100);
});

test('who starts elsewhere is not brought to the edge', () => {
  const { video, edge } = watch({ isFollowing: false });
  video.currentTime = 10;
  edge.follow();
  expect(video.currentTime).toBe(10);
});

test('the time slider covers what can be played, and after the end the whole', () => {
  const { video, hls, timeline } = watch();
  expect(timeline.start).toBeCloseTo(0.01);
  Object.assign(hls, { latestLevelDetails: { fragmentStart: 0.067 } });
  timeline.seek(0);
  expect(video.currentTime).toBeCloseTo(0.077);
  Object.assign(video.seekable, { start: () => 20, end: () => 50 });
  Object.assign(hls, { liveSyncPosition: null });
  video.currentTime = 25;
  expect([timeline.start, timeline.end, timeline.label(45)]).toEqual([20, 50, '−0:05']);
  video.duration = 50;
  expect([timeline.start, timeline.end, timeline.label(45)]).toEqual([0, 50, '0:45']);
  expect(timeline.describe()).toEqual(['0:25 / 0:50', '0:25 of 0:50']);
});

import { expect, test } from 'vitest';
import { pairMono } from './pair-mono.js';
import type { AudioFacts } from './source-facts.js';

const stream = (streamIndex: number, change: Partial<AudioFacts> = {}): AudioFacts => ({
  streamIndex,
  codec: 'pcm_s24le',
  profile: -99,
  sampleRate: 48_000,
  channels: 1,
  channelLayout: 'mono',
  timeBase: { num: 1, den: 48_000 },
  durationSeconds: 10,
  isDefault: false,
  simpleEditList: true,
  ...change,
});
const pairsOf = (format: string, streams: readonly AudioFacts[]) =>
  pairMono(format, streams).map(({ streamIndex, rightStreamIndex, channels }) => [
    streamIndex,
    rightStreamIndex,
    channels,
  ]);

test('two streams are left and right, and so are each two of four and eight', () => {
  expect(pairsOf('mxf', [stream(1), stream(2)])).toEqual([[1, 2, 2]]);
  expect(
    pairsOf(
      'mov,mp4,m4a,3gp,3g2,mj2',
      [2, 1, 3, 4].map((index) => stream(index)),
    ),
  ).toEqual([
    [1, 2, 2],
    [3, 4, 2],
  ]);
  expect(
    pairsOf(
      'mxf_opatom',
      [1, 2, 3, 4, 5, 6, 7, 8].map((index) => stream(index)),
    ),
  ).toHaveLength(4);
});

test('other streams stay as they are', () => {
  const single = (changed: AudioFacts) => pairsOf('mxf', [stream(1), changed]);
  expect(single(stream(2, { channels: 2 }))).toEqual([
    [1, undefined, 1],
    [2, undefined, 2],
  ]);
  const others = [
    stream(2, { codec: 'aac' }),
    stream(2, { sampleRate: 44_100 }),
    stream(2, { language: 'fre' }),
    stream(2, { timeBase: { num: 1, den: 25 } }),
  ];
  for (const other of others) expect(single(other)).toHaveLength(2);
  expect(pairsOf('mxf', [stream(1)])).toEqual([[1, undefined, 1]]);
  expect(pairsOf('mxf', [stream(1), stream(2), stream(3)])).toHaveLength(3);
  expect(pairsOf('matroska,webm', [stream(1), stream(2)])).toHaveLength(2);
  expect(pairsOf('mxf', [])).toEqual([]);
});

import { expect, test } from 'vitest';
import { findBox, viewOf } from './box-reader.js';
import { writeAudioInit, writeFragment, writeVideoInit } from './cmaf.js';
import { readFragmentIndexes, splitFragment, writeProgressiveHeader } from './progressive.js';

const videoSettings = { timescale: 30_000, width: 320, height: 180, avcc: Uint8Array.of(1, 100, 0, 30, 255) };
const videoInit = writeVideoInit(videoSettings);
const audioInit = writeAudioInit({ sampleRate: 48_000, channels: 2, audioSpecificConfig: Uint8Array.of(0x11, 0x90) });
const payload = (count: number, value: number): Uint8Array => new Uint8Array(count).fill(value);

/** Three frames, the second displayed last. */
const frame = (number: number, raisedTicks = 0): Uint8Array =>
  writeFragment({
    sequence: number + 1,
    baseDecodeTicks: number * 3000,
    samples: [
      { durationTicks: 1000, compositionOffsetTicks: raisedTicks, sizeBytes: 10, sync: true },
      { durationTicks: 1000, compositionOffsetTicks: raisedTicks + 1000, sizeBytes: 5, sync: false },
      { durationTicks: 1000, compositionOffsetTicks: raisedTicks - 1000, sizeBytes: 3, sync: false },
    ],
    data: [payload(18, 16 + number)],
  });
const audio = (number: number, samples: number): Uint8Array =>
  writeFragment({
    sequence: number + 1,
    baseDecodeTicks: number * 4800,
    samples: Array.from({ length: samples }, () => ({
      durationTicks: 1024,
      compositionOffsetTicks: 0,
      sizeBytes: 4,
      sync: true,
    })),
    data: [payload(samples * 4, 64 + number)],
  });

const segments = [
  [frame(0), frame(1)],
  [audio(0, 5), audio(1, 4)],
] as const;
const split = segments.map((track) => track.map(splitFragment));
const fragments = split.map((track) => readFragmentIndexes(Buffer.concat(track.map(({ index }) => index))));
const header = writeProgressiveHeader([
  { init: videoInit, fragments: fragments[0]! },
  { init: audioInit, fragments: fragments[1]! },
]);
const data = [0, 1].flatMap((number) => split.map((track) => track[number]!.samples));
const file = Buffer.concat([header.bytes, ...data]);

/** The words after version and flags of a full box in the n-th track. */
const words = (track: number, path: readonly string[]): number[] => {
  const moov = findBox(file, ['moov'])!;
  let start = moov.content;
  const traks = [];
  const view = viewOf(file);
  while (start < moov.end) {
    const size = view.getUint32(start);
    if (file.toString('latin1', start + 4, start + 8) === 'trak') traks.push({ start: start + 8, end: start + size });
    start += size;
  }
  const found = findBox(file, path, traks[track]!.start, traks[track]!.end)!;
  const result = [];
  for (let at = found.content + 4; at < found.end; at += 4) result.push(view.getUint32(at));
  return result;
};
const table = (track: number, name: string): number[] => words(track, ['mdia', 'minf', 'stbl', name]);

test('the index names every sample', () => {
  expect(table(0, 'stsz')).toEqual([0, 6, 10, 5, 3, 10, 5, 3]);
  expect(table(0, 'stts')).toEqual([1, 6, 1000]);
  expect(table(0, 'ctts')).toEqual([6, 1, 1000, 1, 2000, 1, 0, 1, 1000, 1, 2000, 1, 0]);
  expect(table(0, 'stss')).toEqual([2, 1, 4]);
  expect(table(0, 'stsc')).toEqual([1, 1, 3, 1]);
  expect(table(1, 'stts')).toEqual([1, 9, 1024]);
  expect(table(1, 'stsc')).toEqual([2, 1, 5, 1, 2, 4, 1]);
  expect(findBox(file, ['mdat'])).toMatchObject({ end: file.length });
});

test('the edit list takes back the shift that makes composition offsets positive', () => {
  expect(words(0, ['edts', 'elst'])).toEqual([1, 0, 18_000, 0, 1000, 0x10000]);
});

test.each([1000, 1500])('offsets that segments raise by %i are not raised again', (raisedTicks) => {
  const indexes = [frame(0, raisedTicks), frame(1, raisedTicks)].map((bytes) => splitFragment(bytes).index);
  const init = writeVideoInit({ ...videoSettings, reorderTicks: raisedTicks });
  const raised = writeProgressiveHeader([{ init, fragments: readFragmentIndexes(Buffer.concat(indexes)) }]);
  const plain = writeProgressiveHeader([{ init: videoInit, fragments: fragments[0]! }]);
  expect(Buffer.from(raised.bytes).equals(plain.bytes)).toBe(true);
});

test('chunks alternate and lie where the index says', () => {
  const at = (track: number): number[] => table(track, 'co64').filter((_, index) => index > 0 && index % 2 === 0);
  expect(at(0).map((offset) => file[offset])).toEqual([16, 17]);
  expect(at(1).map((offset) => file[offset])).toEqual([64, 65]);
  expect(at(0)[1]! - at(1)[0]!).toBe(20);
  expect(at(1)[0]! - at(0)[0]!).toBe(18);
});

test('what follows and how long it lasts', () => {
  expect(header.bytes.length + header.dataBytes).toBe(file.length);
  expect(header.durationSeconds).toBe(0.2);
});

test.each([
  [fragments[0]!, videoInit, 'isom'],
  [fragments[1]!, audioInit, 'M4A '],
])('the brand tells audio alone', (track, init, brand) => {
  const { bytes } = writeProgressiveHeader([{ init, fragments: track }]);
  expect(Buffer.from(bytes).toString('latin1', 4, 12)).toBe(`ftyp${brand}`);
});

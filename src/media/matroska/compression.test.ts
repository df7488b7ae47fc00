import { expect, test } from 'vitest';
import { findBzip2Streams } from './compression.js';

const element = (id: number, ...content: (Buffer | number)[]): Buffer => {
  const body = Buffer.concat(content.map((part) => (typeof part === 'number' ? Buffer.from([part]) : part)));
  const hex = id.toString(16);
  return Buffer.concat([Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex'), size(body), body]);
};
const size = (body: Buffer): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(body.length) | (1n << 56n));
  return bytes;
};
const compressed = (algorithm: number): Buffer =>
  element(0x6d80, element(0x6240, element(0x5031, 0), element(0x5034, element(0x4254, algorithm))));
const track = (number: number, type: number, ...more: Buffer[]): Buffer =>
  element(0xae, element(0xd7, number), element(0x83, type), ...more);
const file = (...tracks: Buffer[]): Buffer =>
  Buffer.concat([
    element(0x1a45dfa3, element(0x4282, Buffer.from('matroska'))),
    element(0x18538067, element(0xec, 0, 0), element(0x1654ae6b, ...tracks)),
  ]);

test('streams that are compressed with bzip2 are found by their number in FFmpeg', () => {
  // Buttons (0x12) are no stream.
  const bytes = file(
    track(7, 1),
    track(8, 0x12, compressed(1)),
    track(9, 2, compressed(1)),
    track(10, 17, compressed(0)),
  );
  expect([...findBzip2Streams(bytes)]).toEqual([1]);
});

test('files that are cut off or not Matroska have none', () => {
  const bytes = file(track(1, 1, compressed(1)));
  expect([...findBzip2Streams(bytes)]).toEqual([0]);
  for (let length = 0; length < bytes.length; length += 1)
    expect([...findBzip2Streams(bytes.subarray(0, length))]).toEqual([]);
  expect([...findBzip2Streams(Buffer.from('not a video'))]).toEqual([]);
});

import { expect, test } from 'vitest';
import type { IngestPacket } from '../ingest.js';
import { HeldPackets } from './held-packets.js';

const data = new Uint8Array(1);
const frame = (dtsMs: number, isKey: boolean): IngestPacket => ({
  ...{ kind: 'video', dtsMs, isKey, data },
  compositionMs: 0,
});
const audio = (dtsMs: number): IngestPacket => ({ kind: 'audio', dtsMs, data });
const config = (byte: number): IngestPacket => ({
  kind: 'video-config',
  config: { codec: 'avc', record: Uint8Array.of(byte) },
});

test('the first key frame ends the slate; what precedes it can not be decoded', () => {
  const held = new HeldPackets();
  for (const packet of [config(1), audio(0), frame(5, false), config(2)]) expect(held.add(packet)).toBeUndefined();
  expect(held.add(frame(40, true))).toEqual([config(2), audio(0), frame(40, true)]);
});

test('audio alone ends it after two seconds, and later when video is announced', () => {
  const held = new HeldPackets();
  expect(held.add(audio(1000))).toBeUndefined();
  expect(held.add(audio(2900))).toBeUndefined();
  expect(held.add(audio(3000))).toHaveLength(3);
  const announced = new HeldPackets();
  announced.add(config(1));
  announced.add(audio(0));
  expect(announced.add(audio(9000))).toBeUndefined();
  expect(announced.add(audio(10_000))).toHaveLength(4);
});

test('audio from before a jump of the clock is dropped', () => {
  const held = new HeldPackets();
  held.add(audio(500_000));
  held.add(audio(0));
  expect(held.add(audio(2000))).toEqual([audio(0), audio(2000)]);
});

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { IngestPacket } from '../ingest.js';
import { SlateSession } from './slate-session.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const clock = { now: () => new Date(), monotonicMs: () => performance.now() };
const video = {
  record: Uint8Array.of(1),
  frames: [0, 1, 2].map((byte) => Uint8Array.of(byte)),
  frameRate: { num: 25, den: 1 },
};
const audio = { record: Uint8Array.of(2), sampleRate: 48_000, silence: Uint8Array.of(9) };

const start = (media: ConstructorParameters<typeof SlateSession>[0]['media'], behindMs: number) => {
  const packets: IngestPacket[] = [];
  const session = new SlateSession({ media, clock, behindMs, write: (packet) => packets.push(packet) });
  const timesOf = (kind: 'video' | 'audio') =>
    packets.flatMap((packet) => (packet.kind === kind ? [(packet as { dtsMs: number }).dtsMs] : []));
  return { session, packets, timesOf };
};

test('frames are repeated in real time', () => {
  const { session, packets, timesOf } = start({ video, audio }, 0);
  expect(packets.map(({ kind }) => kind)).toEqual(['metadata', 'video-config', 'audio-config', 'video', 'audio']);
  vi.advanceTimersByTime(1000);
  expect(timesOf('video')).toEqual(Array.from({ length: 26 }, (_, frame) => frame * 40));
  expect(timesOf('audio')).toHaveLength(47);
  const shown = packets.filter((packet) => packet.kind === 'video');
  expect(shown.map(({ isKey }) => isKey).slice(0, 5)).toEqual([true, false, false, true, false]);
  expect(shown.map(({ data }) => data[0]).slice(0, 5)).toEqual([0, 1, 2, 0, 1]);
  session.stop();
  vi.advanceTimersByTime(1000);
  expect(timesOf('video')).toHaveLength(26);
});

test('what should have been played before is written first, in steps', () => {
  const { timesOf } = start({ video }, 50_000);
  expect(timesOf('video').at(-1)).toBe(20_000);
  vi.advanceTimersByTime(300);
  expect(timesOf('video').at(-1)).toBe(50_280);
});

import { describe, expect, it } from 'vitest';
import { H264Frames } from './h264-frames.js';
import { RtpClock } from './rtp-clock.js';
import { RtpOrder, type RtpUnit } from './rtp-order.js';

const unit = (sequenceNumber: number, payload: number[] = [], marker = true, timestamp = 0): RtpUnit => ({
  sequenceNumber: sequenceNumber & 0xffff,
  timestamp,
  marker,
  payload: Buffer.from(payload),
});
const numbers = ({ units }: { units: RtpUnit[] }): number[] => units.map(({ sequenceNumber }) => sequenceNumber);

describe('the order of RTP packets', () => {
  it('waits for one that is late, also where numbers wrap', () => {
    const order = new RtpOrder();
    expect(numbers(order.push(unit(65_534), 0))).toEqual([65_534]);
    expect(numbers(order.push(unit(0), 10))).toEqual([]);
    expect(numbers(order.push(unit(1), 20))).toEqual([]);
    expect(order.push(unit(65_535), 100)).toEqual({ units: [unit(65_535), unit(0), unit(1)], isLost: false });
    // Sent again, and too late.
    expect(numbers(order.push(unit(65_535), 110))).toEqual([]);
  });

  it('gives a packet up after a while, and says so', () => {
    const order = new RtpOrder();
    order.push(unit(1), 0);
    expect(order.push(unit(3), 10)).toEqual({ units: [], isLost: false });
    expect(order.push(unit(4), 300)).toEqual({ units: [unit(3), unit(4)], isLost: true });
    expect(order.push(unit(5), 310)).toEqual({ units: [unit(5)], isLost: false });
  });

  it('holds a bounded number of packets', () => {
    const order = new RtpOrder();
    order.push(unit(0), 0);
    let released = 0;
    for (let number = 2; number < 2000; number += 1) released += order.push(unit(number), 0).units.length;
    expect(released).toBeGreaterThan(1000);
  });
});

describe('frames of H.264 in RTP', () => {
  const sps = [0x67, 0x42, 0xe0, 0x1f, 0xda, 0x01, 0x40, 0x16, 0xe9];
  const pps = [0x68, 0xce, 0x3c, 0x80];
  const aggregate = [0x78, 0, sps.length, ...sps, 0, pps.length, ...pps];

  it('joins aggregates and fragments, and makes the decoder configuration', () => {
    const frames = new H264Frames();
    expect(frames.push(unit(0, aggregate, false))).toBeUndefined();
    expect(frames.push(unit(1, [0x7c, 0x85, 1, 2], false))).toBeUndefined();
    expect(frames.push(unit(2, [0x7c, 0x05, 3], false))).toBeUndefined();
    const frame = frames.push(unit(3, [0x7c, 0x45, 4]))!;
    expect(frame.isKey).toBe(true);
    expect([...frame.data]).toEqual([0, 0, 0, 5, 0x65, 1, 2, 3, 4]);
    expect(frame.avcc?.[0]).toBe(1);
    expect(frames.push(unit(4, [0x41, 9], true, 3000))).toMatchObject({ isKey: false, timestamp: 3000 });
  });

  it('waits for a key frame at the start and after a loss', () => {
    const frames = new H264Frames();
    expect(frames.push(unit(0, [0x41, 1]))).toBeUndefined();
    expect(frames.push(unit(1, [0x65, 1], true, 1))).toBeDefined();
    expect(frames.push(unit(2, [0x41, 1], true, 2))).toBeDefined();
    frames.lose();
    expect(frames.needsKey).toBe(true);
    expect(frames.push(unit(4, [0x41, 1], true, 3))).toBeUndefined();
    // The last packet of a frame is missing.
    expect(frames.push(unit(5, [0x65, 1], false, 4))).toBeUndefined();
    expect(frames.push(unit(7, [0x41, 1], true, 5))).toBeUndefined();
    expect(frames.push(unit(8, [0x65, 1], true, 6))).toBeDefined();
  });

  it('survives whatever arrives', () => {
    const frames = new H264Frames();
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % below;
    };
    for (let number = 0; number < 20_000; number += 1) {
      const payload = Array.from({ length: random(20) }, () => random(256));
      expect(() => frames.push(unit(number, payload, random(3) === 0, random(4)))).not.toThrow();
    }
  });
});

describe('the clock of an RTP stream', () => {
  it('goes on where 32 bits end', () => {
    const clock = new RtpClock(90_000);
    clock.arrive(2 ** 32 - 90_000, 5000);
    expect(clock.msOf(clock.unwrap(2 ** 32 - 90_000), false)).toBe(5000);
    expect(clock.msOf(clock.unwrap(90_000), false)).toBe(7000);
    expect(clock.msOf(clock.unwrap(0), false)).toBe(6000);
  });

  it('relates streams by the reports of the sender', () => {
    const [video, audio] = [new RtpClock(90_000), new RtpClock(48_000)];
    const ntp = (seconds: number): bigint =>
      (BigInt(Math.floor(seconds)) << 32n) + BigInt(Math.floor((seconds % 1) * 2 ** 32));
    video.report({ timestamp: 1000, ntp: ntp(4_000_000_000.5) });
    audio.report({ timestamp: 77, ntp: ntp(4_000_000_001) });
    const ahead = audio.msOf(audio.unwrap(77), true) - video.msOf(video.unwrap(1000), true);
    expect(ahead).toBeCloseTo(500, 3);
  });
});

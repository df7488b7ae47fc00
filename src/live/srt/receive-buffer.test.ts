import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUFFER_PACKETS, ReceiveBuffer } from './receive-buffer.js';
import { ReceiveClock } from './receive-clock.js';

const packet = (count: number) => ({ payload: Buffer.from(String(count)), sentMs: count });
const textOf = (buffer: ReceiveBuffer): (string | number)[] =>
  buffer.take().map((delivery) => ('lost' in delivery ? delivery.lost : String(delivery.payload)));

describe('a receive buffer', () => {
  it('delivers in order, each packet once, whatever the network does', () => {
    // Each packet is sent up to three times, at random places; 0 of them is a loss.
    const sent = fc.array(fc.array(fc.nat(40), { maxLength: 3 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(sent, fc.nat(100), (places, first) => {
        const buffer = new ReceiveBuffer(first);
        const arrivals = places
          .flatMap((delays, index) => delays.map((delay) => ({ count: first + index, at: index + delay })))
          .sort((a, b) => a.at - b.at);
        const delivered: (string | number)[] = [];
        for (const { count } of arrivals) {
          if (!buffer.isNew(count)) continue;
          buffer.add(count, packet(count));
          delivered.push(...textOf(buffer));
        }
        buffer.flush();
        delivered.push(...textOf(buffer));
        const last = places.findLastIndex((delays) => delays.length > 0);
        const expected = places.slice(0, last + 1).flatMap((delays, index) => {
          return delays.length > 0 ? [String(first + index)] : ['lost'];
        });
        const expanded = delivered.flatMap((item) => (typeof item === 'number' ? Array(item).fill('lost') : [item]));
        expect(expanded).toEqual(expected);
        expect(buffer.missing).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  it('says what is missing, and waits for it until what follows is due', () => {
    const buffer = new ReceiveBuffer(10);
    expect(buffer.add(10, packet(10))).toBeUndefined();
    expect(buffer.add(13, packet(13))).toEqual({ first: 11, last: 12 });
    expect(buffer.add(16, packet(16))).toEqual({ first: 14, last: 15 });
    expect(buffer.add(12, packet(12))).toBeUndefined();
    expect(buffer.missing).toEqual([
      { first: 11, last: 11 },
      { first: 14, last: 15 },
    ]);
    expect(textOf(buffer)).toEqual(['10']);
    buffer.expire((sentMs) => sentMs < 12);
    expect(textOf(buffer)).toEqual([]);
    buffer.expire((sentMs) => sentMs < 14);
    expect(textOf(buffer)).toEqual([1, '12', '13']);
    expect(buffer.next).toBe(14);
    expect(buffer.free).toBe(BUFFER_PACKETS - 3);
  });

  it('gives up what the sender has dropped', () => {
    const buffer = new ReceiveBuffer(0);
    buffer.add(5, packet(5));
    buffer.drop({ first: 2, last: 3 });
    expect(textOf(buffer)).toEqual([]);
    buffer.drop({ first: 0, last: 4 });
    expect(textOf(buffer)).toEqual([5, '5']);
    buffer.drop({ first: 0, last: 2 ** 30 });
    expect(buffer.next).toBe(6);
  });

  it('holds a limited number of packets', () => {
    const buffer = new ReceiveBuffer(0);
    buffer.add(1, packet(1));
    buffer.add(BUFFER_PACKETS + 10, packet(9));
    expect(textOf(buffer)).toEqual([1, '1', 9]);
    expect(buffer.next).toBe(11);
    expect(buffer.free).toBe(0);
    expect(buffer.isNew(10)).toBe(false);
    expect(buffer.isNew(2 ** 30)).toBe(false);
  });
});

describe('the clock of a sender', () => {
  it('says when packets are due, over the wrap of its timestamps', () => {
    const clock = new ReceiveClock(100);
    // 5 s before the wrap; the network takes 50 ms, and later 30 ms.
    const start = 2 ** 32 - 5_000_000;
    expect(clock.arrive(start, 50)).toBe(start / 1000);
    const sentMs = clock.arrive((start + 10_000_000) % 2 ** 32, 10_030);
    expect(sentMs).toBe(start / 1000 + 10_000);
    expect(clock.isDue(sentMs, 10_129)).toBe(false);
    expect(clock.isDue(sentMs, 10_130)).toBe(true);
    // A late packet changes nothing.
    clock.arrive((start + 10_000_000) % 2 ** 32, 10_500);
    expect(clock.isDue(sentMs, 10_130)).toBe(true);
  });

  it('follows a clock that is slower', () => {
    const clock = new ReceiveClock(100);
    let sentMs = 0;
    for (let second = 0; second < 120; second += 1) sentMs = clock.arrive(second * 999_000, second * 1000);
    expect(clock.isDue(sentMs, 119_075)).toBe(false);
    expect(clock.isDue(sentMs, 119_101)).toBe(true);
  });
});

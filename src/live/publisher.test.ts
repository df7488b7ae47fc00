import { expect, it, vi } from 'vitest';
import type { IngestPacket } from './ingest.js';
import { Publisher } from './publisher.js';

const MIB = 2 ** 20;
const packetOf = (bytes: number): IngestPacket => ({ kind: 'audio', dtsMs: 0, data: new Uint8Array(bytes) });

const open = () => {
  let nowMs = 0;
  const clock = { now: () => new Date(0), monotonicMs: () => nowMs };
  const disconnect = vi.fn();
  const events = { packet: vi.fn(), ended: vi.fn() };
  const publisher = new Publisher(
    'live',
    { streamKey: 'k', protocol: 'rtmp', peer: '192.0.2.1', disconnect },
    clock,
    events,
  );
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { publisher, disconnect, events, pass };
};

it('takes an hour of 100 Mb/s, with a pause after which everything comes at once', () => {
  const { publisher, disconnect, events, pass } = open();
  const frame = packetOf((100e6 / 8 / 60) | 0);
  const seconds = (count: number, paced: boolean): void => {
    for (let frames = 0; frames < count * 60; frames++) {
      if (paced) pass(1000 / 60);
      publisher.write(frame);
    }
  };
  seconds(3600, true);
  pass(8000);
  seconds(8, false);
  seconds(60, true);
  expect(disconnect).not.toHaveBeenCalled();
  expect(events.packet).toHaveBeenCalledTimes(3668 * 60);
});

it.each([
  ['bytes', 1 * MIB, 0.01, 300],
  ['packets', 10, 0.05, 40_000],
])('disconnects a flood of %s, once, and takes no more of it', (_name, bytes, paceMs, most) => {
  const { publisher, disconnect, events, pass } = open();
  for (let packets = 0; packets < 2 * most; packets++) {
    pass(paceMs);
    publisher.write(packetOf(bytes));
  }
  expect(disconnect.mock.calls).toEqual([['The encoder sends much more than real time.']]);
  expect(events.ended).toHaveBeenCalledTimes(1);
  expect(events.packet.mock.calls.length).toBeGreaterThan(100);
  expect(events.packet.mock.calls.length).toBeLessThan(most);
});

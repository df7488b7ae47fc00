import { describe, expect, it, vi } from 'vitest';
import { cryptPayload, type StreamKeys } from './key-material.js';
import { readLossList } from './loss-list.js';
import { CONTROL, type ControlPacket, EXTENSION, KEY, readPacket, writeControl, writeData } from './packets.js';
import { SrtReceiver } from './srt-receiver.js';

const salt = Buffer.alloc(16, 7);
const keys: StreamKeys = { salt, even: Buffer.alloc(16, 1) };
const FIRST = 2 ** 31 - 2;

const open = () => {
  let nowMs = 1000;
  const sent: ControlPacket[] = [];
  const delivered: string[] = [];
  const onEnd = vi.fn();
  const readKeys = vi.fn((): StreamKeys | undefined => ({ salt, odd: Buffer.alloc(16, 2) }));
  const receiver = new SrtReceiver({
    ...{ peerSocketId: 99, initialSequence: FIRST, latencyMs: 120, keys, readKeys, onEnd },
    clock: { now: () => new Date(0), monotonicMs: () => nowMs },
    send: (packet) => void sent.push(readPacket(packet) as ControlPacket),
    onPayload: (payload) => void delivered.push(payload.toString()),
    onLost: (packets) => void delivered.push(`lost ${packets}`),
  });
  /** `count` from 0. */
  const data = (count: number, { keyFlag = KEY.even as number, key = keys.even! } = {}): void => {
    const sequence = (FIRST + count) % 2 ** 31;
    const payload = cryptPayload(key, salt, sequence, Buffer.from(`p${count}`));
    const fields = { sequence, keyFlag, timestamp: count * 10_000, socketId: 1, payload };
    receiver.receive(readPacket(writeData({ ...fields, messageNumber: count + 1, isRetransmitted: false }))!);
  };
  const control = (type: number, content: readonly number[] | Uint8Array = [], info = 0, subtype = 0): void =>
    receiver.receive(readPacket(writeControl({ type, subtype, info, timestamp: 0, socketId: 1 }, content))!);
  const pass = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += 10) {
      nowMs += 10;
      receiver.tick();
    }
  };
  const ofType = (type: number) => sent.filter((packet) => packet.type === type);
  return { receiver, data, control, pass, sent, ofType, delivered, onEnd, readKeys };
};

describe('a receiver', () => {
  it('decrypts, acknowledges, and repeats that until it is confirmed', () => {
    const { data, pass, ofType, control, delivered } = open();
    for (const count of [0, 1, 2]) data(count);
    pass(10);
    expect(delivered).toEqual(['p0', 'p1', 'p2']);
    const [first] = ofType(CONTROL.ack);
    expect(first!.socketId).toBe(99);
    expect(first!.payload.readUInt32BE(0)).toBe(1);
    expect(first!.payload.length).toBe(28);
    pass(500);
    expect(ofType(CONTROL.ack)).toHaveLength(2);
    control(CONTROL.ackAck, [], 2);
    pass(500);
    expect(ofType(CONTROL.ack)).toHaveLength(2);
  });

  it('measures the round trip by confirmations', () => {
    const { data, pass, ofType, control } = open();
    data(0);
    pass(10);
    pass(40);
    control(CONTROL.ackAck, [], 1);
    data(1);
    pass(10);
    expect(ofType(CONTROL.ack)[1]!.payload.readUInt32BE(4)).toBe(40_000);
  });

  it('does not wait for a tick after many packets', () => {
    const { data, ofType } = open();
    for (let count = 0; count < 64; count += 1) data(count);
    const [light] = ofType(CONTROL.ack);
    expect([light!.info, light!.payload.length, light!.payload.readUInt32BE(0)]).toEqual([0, 4, 62]);
  });

  it('asks for what is missing at once and again, and gives it up when it is too late', () => {
    const { data, pass, ofType, delivered } = open();
    data(0);
    data(4);
    const missing = [{ first: FIRST + 1, last: 1 }];
    expect(ofType(CONTROL.nak).map(({ payload }) => readLossList(payload))).toEqual([missing]);
    data(2);
    // A pause of the process: nothing says how much time has passed.
    pass(400);
    expect(delivered).toEqual(['p0']);
    const last = readLossList(ofType(CONTROL.nak).at(-1)!.payload);
    expect(last).toEqual([
      { first: FIRST + 1, last: FIRST + 1 },
      { first: 1, last: 1 },
    ]);
    data(5);
    pass(10);
    expect(delivered).toEqual(['p0', 'lost 1', 'p2', 'lost 1', 'p4', 'p5']);
    const asked = ofType(CONTROL.nak).length;
    pass(400);
    expect(ofType(CONTROL.nak)).toHaveLength(asked);
  });

  it('asks again although new packets are missing all the time', () => {
    const { data, pass, ofType, control } = open();
    data(0);
    pass(10);
    control(CONTROL.ackAck, [], 1);
    for (let count = 2; count <= 10; count += 2) {
      data(count);
      pass(10);
    }
    const asked = ofType(CONTROL.nak).flatMap(({ payload }) => readLossList(payload)!);
    expect(asked.filter(({ first }) => first === FIRST + 1)).toHaveLength(3);
  });

  it('delivers a packet once that is sent twice, and none that is late', () => {
    const { data, delivered, control } = open();
    for (const count of [0, 2, 2, 1, 1, 0]) data(count);
    // Counts 3 to 5.
    control(CONTROL.dropRequest, [1, 3]);
    data(3);
    data(6);
    expect(delivered).toEqual(['p0', 'p1', 'p2', 'lost 3', 'p6']);
  });

  it('takes new keys, and keeps the old ones', () => {
    const { data, control, ofType, delivered, readKeys } = open();
    data(0);
    data(1, { keyFlag: KEY.odd, key: Buffer.alloc(16, 2) });
    control(CONTROL.extended, Buffer.from('message!'), 0, EXTENSION.keyRequest);
    control(CONTROL.extended, Buffer.from('too soon'), 0, EXTENSION.keyRequest);
    data(2, { keyFlag: KEY.odd, key: Buffer.alloc(16, 2) });
    data(3);
    data(4, { keyFlag: KEY.none });
    expect(delivered).toEqual(['p0', 'lost 1', 'p2', 'p3', 'lost 1']);
    expect(readKeys).toHaveBeenCalledOnce();
    const [response] = ofType(CONTROL.extended);
    expect([response!.subtype, response!.payload.toString()]).toEqual([EXTENSION.keyResponse, 'message!']);
  });

  it('ends when the peer says so, with all that has arrived', () => {
    const { data, control, delivered, onEnd, sent } = open();
    data(0);
    data(2);
    control(CONTROL.shutdown);
    expect(delivered).toEqual(['p0', 'lost 1', 'p2']);
    expect(onEnd.mock.calls).toEqual([['The encoder has ended the stream.', true]]);
    const count = sent.length;
    data(3);
    expect([delivered.length, sent.length]).toEqual([3, count]);
  });

  it('ends 5 s after the last sign of life, and says that it is alive each second', () => {
    const { data, pass, ofType, onEnd, control } = open();
    data(0);
    pass(10);
    control(CONTROL.ackAck, [], 1);
    pass(4990);
    expect(onEnd).not.toHaveBeenCalled();
    expect(ofType(CONTROL.keepAlive)).toHaveLength(4);
    pass(10);
    expect(onEnd.mock.calls).toEqual([['The encoder does not respond.', false]]);
  });

  it('ends when the peer lives, but sends nothing', () => {
    const { data, pass, control, ofType, onEnd } = open();
    data(0);
    for (let second = 0; second < 10; second += 1) {
      expect(onEnd).not.toHaveBeenCalled();
      control(CONTROL.keepAlive);
      pass(1000);
    }
    expect(onEnd.mock.calls).toEqual([['The encoder has stopped sending.', false]]);
    expect(ofType(CONTROL.shutdown)).toHaveLength(1);
  });
});

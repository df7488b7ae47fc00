import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONTROL, readPacket, writeControl } from './packets.js';
import { SrtReceiver } from './srt-receiver.js';
import { SrtSender } from './srt-sender.js';

const FIRST = 2 ** 31 - 40;
const keys = { salt: Buffer.alloc(16, 3), even: Buffer.alloc(16, 5) };

/** A sender and a receiver with a network between them, in a time of their own. */
const connect = ({ loss = (): boolean => false, latencyMs = 2000, delayMs = 30 } = {}) => {
  let nowMs = 0;
  const clock = { now: () => new Date(0), monotonicMs: () => nowMs };
  const onTheWay: { readonly atMs: number; readonly arrive: () => void }[] = [];
  const pass = (arrive: () => void): void => {
    if (!loss()) onTheWay.push({ atMs: nowMs + delayMs, arrive });
  };
  const delivered: string[] = [];
  const ends: string[] = [];
  const sent: Buffer[] = [];
  const receiver: SrtReceiver = new SrtReceiver({
    ...{ peerSocketId: 1, initialSequence: FIRST, latencyMs, keys, clock },
    readKeys: () => undefined,
    send: (bytes) => pass(() => sender.receive(readPacket(bytes)!)),
    onPayload: (payload) => void delivered.push(payload.toString()),
    onLost: (packets) => void delivered.push(`lost ${packets}`),
    onEnd: (reason) => void ends.push(reason),
  });
  const sender: SrtSender = new SrtSender({
    ...{ peerSocketId: 2, initialSequence: FIRST, latencyMs, keys, clock, startMs: 0 },
    send: (bytes) => {
      sent.push(bytes);
      pass(() => receiver.receive(readPacket(bytes)!));
    },
    onEnd: (reason) => void ends.push(reason),
  });
  const run = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += 10) {
      nowMs += 10;
      const due = onTheWay.filter(({ atMs }) => atMs <= nowMs);
      for (const packet of due) onTheWay.splice(onTheWay.indexOf(packet), 1);
      for (const { arrive } of due) arrive();
      receiver.tick();
      sender.tick();
    }
  };
  return { sender, run, delivered, ends, sent };
};

describe('a sender', () => {
  it('brings all packets through a network that loses a fifth of them, and forgets them', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.integer({ min: 0, max: 4 })), (chances) => {
        let isLossy = true;
        const loss = (): boolean => isLossy && chances.next().value === 0;
        const { sender, run, delivered, ends } = connect({ loss });
        for (let packet = 0; packet < 100; packet += 1) {
          sender.write(Buffer.from(`p${packet}`));
          run(10);
        }
        isLossy = false;
        run(3000);
        expect(delivered).toEqual(Array.from({ length: 100 }, (_, packet) => `p${packet}`));
        expect(sender.isDelivered).toBe(true);
        expect(ends).toEqual([]);
        sender.close();
        run(100);
        expect(ends).toEqual(['The encoder has ended the stream.']);
      }),
      { numRuns: 8 },
    );
  });

  it('goes on when packets are lost for good', () => {
    let isBroken = false;
    const { sender, run, delivered } = connect({ loss: () => isBroken, latencyMs: 120 });
    const write = (from: number, to: number): void => {
      for (let packet = from; packet < to; packet += 1) {
        sender.write(Buffer.from(`p${packet}`));
        run(10);
      }
    };
    write(0, 10);
    isBroken = true;
    write(10, 210);
    isBroken = false;
    write(210, 260);
    run(1000);
    const lost = delivered.filter((item) => item.startsWith('lost')).map((item) => Number(item.slice(5)));
    const arrived = delivered.filter((item) => item.startsWith('p'));
    expect(lost.reduce((sum, packets) => sum + packets, 0) + arrived.length).toBe(260);
    expect(arrived.at(-1)).toBe('p259');
    expect(arrived.length).toBeGreaterThan(50);
    expect(sender.isDelivered).toBe(true);
  });

  it('holds packets back that the peer can not take, and too many at once', () => {
    const { sender, run } = connect();
    expect(sender.isBlocked).toBe(false);
    for (let packet = 0; packet < 64; packet += 1) sender.write(Buffer.from('x'));
    expect(sender.isBlocked).toBe(true);
    run(10);
    expect(sender.isBlocked).toBe(false);
    // A window of two packets.
    const ack = writeControl({ type: CONTROL.ack, info: 1, timestamp: 0, socketId: 1 }, [FIRST, 0, 0, 2]);
    sender.receive(readPacket(ack)!);
    expect(sender.isBlocked).toBe(true);
    run(1000);
    expect(sender.isBlocked).toBe(false);
  });

  it('knows that the peer has ended, or is dead', () => {
    const ended = connect();
    ended.sender.receive(readPacket(writeControl({ type: CONTROL.shutdown, timestamp: 0, socketId: 1 }))!);
    expect(ended.ends).toEqual(['ended']);
    const dead = connect({ loss: () => true });
    dead.run(4990);
    expect(dead.ends).toEqual([]);
    const types = dead.sent.map((bytes) => bytes.readUInt16BE(0) & 0x7fff);
    expect(types.filter((type) => type === CONTROL.keepAlive)).toHaveLength(4);
    dead.run(20);
    expect(dead.ends.sort()).toEqual(['The encoder does not respond.', 'silent']);
  });
});

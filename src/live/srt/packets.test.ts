import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  HANDSHAKE_TYPE,
  readCapabilities,
  readHandshake,
  readText,
  writeCapabilities,
  writeHandshake,
  writePeerAddress,
  writeText,
} from './handshake.js';
import { readLossList, writeLossList } from './loss-list.js';
import { CONTROL, EXTENSION, readPacket, writeControl, writeData } from './packets.js';
import { unwrapSequence, wrapSequence } from './sequence-numbers.js';
import { readStreamId } from './stream-id.js';

const word = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const sequence = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const bytes = fc.uint8Array({ maxLength: 64 }).map((array) => Buffer.from(array));

describe('packets', () => {
  it('are read as they were written', () => {
    const data = fc.record({ sequence, keyFlag: fc.nat(2), timestamp: word, socketId: word, payload: bytes });
    fc.assert(
      fc.property(data, word, fc.boolean(), (packet, messageNumber, isRetransmitted) => {
        const written = writeData({ ...packet, messageNumber, isRetransmitted });
        expect(readPacket(written)).toEqual({ kind: 'data', ...packet });
      }),
      { numRuns: 50 },
    );
    const control = fc.record({
      ...{ type: fc.nat(0x7fff), subtype: fc.nat(0xffff), info: word, timestamp: word, socketId: word },
    });
    fc.assert(
      fc.property(control, bytes, (packet, payload) => {
        expect(readPacket(writeControl(packet, payload))).toEqual({ kind: 'control', ...packet, payload });
      }),
      { numRuns: 50 },
    );
  });

  it('have the layout of the specification', () => {
    const packet = { sequence: 5, keyFlag: 2, timestamp: 7, socketId: 9, payload: Buffer.of(1) };
    const data = writeData({ ...packet, messageNumber: 3, isRetransmitted: true });
    expect(data.toString('hex')).toBe('00000005d4000003000000070000000901');
    const ack = writeControl({ type: CONTROL.ack, info: 3, timestamp: 7, socketId: 9 }, [5]);
    expect(ack.toString('hex')).toBe('8002000000000003000000070000000900000005');
  });

  it.each([0, 15])('of %i bytes are none', (size) => expect(readPacket(Buffer.alloc(size))).toBeUndefined());
});

describe('handshakes', () => {
  const handshake = {
    ...{ version: 5, encryption: 2, initialSequence: 77, mtu: 1500, flowWindow: 8192, socketId: 42, cookie: 2 ** 31 },
    type: HANDSHAKE_TYPE.conclusion,
  };

  it('are read as they were written', () => {
    const extensions = new Map([
      [EXTENSION.handshakeRequest as number, Buffer.alloc(12, 1)],
      [EXTENSION.keyRequest as number, Buffer.alloc(56, 2)],
      [EXTENSION.streamId as number, writeText('schlüssel')],
    ]);
    const read = readHandshake(writeHandshake({ ...handshake, extensions }, Buffer.alloc(16)))!;
    expect(read).toEqual({ ...handshake, extensionField: 7, extensions });
    expect(readText(read.extensions.get(EXTENSION.streamId))).toBe('schlüssel');
  });

  it('have texts of at most 512 bytes', () => {
    expect(readText(writeText('k'.repeat(512)))).toHaveLength(512);
    expect(readText(writeText('k'.repeat(513)))).toBe('');
  });

  it('that are damaged are refused, and never fail', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (array) => {
        const content = Buffer.from(array);
        // Half of them are conclusions.
        if (content.length >= 48 && content[0]! % 2 === 0) content.writeUInt32BE(HANDSHAKE_TYPE.conclusion, 20);
        const read = readHandshake(content);
        if (content.length < 48) expect(read).toBeUndefined();
        readCapabilities(read?.extensions.get(EXTENSION.handshakeRequest));
      }),
      { numRuns: 100 },
    );
    const extensions = new Map([[EXTENSION.streamId as number, Buffer.alloc(8)]]);
    const whole = writeHandshake({ ...handshake, extensions }, Buffer.alloc(4));
    expect(readHandshake(whole.subarray(0, -1))).toBeUndefined();
  });

  it('have capabilities', () => {
    const capabilities = { version: 0x010503, flags: 0x3f, receiverLatencyMs: 120, senderLatencyMs: 65_535 };
    expect(readCapabilities(writeCapabilities(capabilities))).toEqual(capabilities);
    expect(readCapabilities(undefined)).toBeUndefined();
  });

  it.each([
    ['127.0.0.1', '0100007f'],
    ['::1', '00000000000000000000000001000000'],
    ['2001:db8::ff00:42', 'b80d0120000000000000000042000 0ff'.replace(' ', '')],
    ['::ffff:10.0.0.1', '0000000000000000ffff00000100000a'],
    ['fe80::1%eth0', '000080fe000000000000000001000000'],
  ])('name the address %s', (address, hex) => expect(writePeerAddress(address).toString('hex')).toBe(hex));
});

describe('lists of losses', () => {
  it('are read as they were written, over the wrap of sequence numbers', () => {
    const ranges = [
      { first: 2 ** 31 - 2, last: 2 ** 31 + 1 },
      { first: 2 ** 31 + 5, last: 2 ** 31 + 5 },
    ];
    const words = writeLossList(ranges, wrapSequence, 10);
    expect(words).toEqual([0xfffffffe, 1, 5]);
    const content = writeControl({ type: CONTROL.nak, timestamp: 0, socketId: 0 }, words).subarray(16);
    expect(readLossList(content)).toEqual([
      { first: 2 ** 31 - 2, last: 1 },
      { first: 5, last: 5 },
    ]);
    expect(writeLossList(ranges, wrapSequence, 2)).toEqual([0xfffffffe, 1]);
    expect(readLossList(content.subarray(0, 4))).toBeUndefined();
  });
});

it('unwraps sequence numbers to the nearest count', () => {
  fc.assert(
    fc.property(fc.nat(2 ** 40), fc.integer({ min: -(2 ** 30), max: 2 ** 30 - 1 }), (near, distance) => {
      expect(unwrapSequence(wrapSequence(near + distance), near)).toBe(near + distance);
    }),
    { numRuns: 100 },
  );
});

it.each([
  ['key', { streamKey: 'key', isPublisher: true }],
  ['#!::r=key,m=publish', { streamKey: 'key', isPublisher: true }],
  ['#!::u=me,r=key', { streamKey: 'key', isPublisher: true }],
  ['#!::m=request,r=a=b', { streamKey: 'a=b', isPublisher: false }],
  ['#!::m=bidirectional,r=key', { streamKey: 'key', isPublisher: false }],
  ['#!::m=publish', undefined],
  ['#!:{r: key}', undefined],
  ['', undefined],
  ['k'.repeat(256), undefined],
])('reads the stream ID %s', (text, expected) => expect(readStreamId(text)).toEqual(expected));

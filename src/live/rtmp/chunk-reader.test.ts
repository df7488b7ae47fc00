import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ChunkForm, chunksOf, type MessageToSend } from '../../../test/support/wire/rtmp-bytes.js';
import { ChunkReader, type RtmpMessage } from './chunk-reader.js';

const LIMITS = { messageBytes: 1_000_000, pendingBytes: 2_000_000 };

const read = (pieces: readonly Buffer[], limits = LIMITS): RtmpMessage[] => {
  const messages: RtmpMessage[] = [];
  const reader = new ChunkReader((message) => messages.push(message), limits);
  for (const piece of pieces) reader.push(piece);
  return messages;
};

const bytes = (size: number, seed = 1): Buffer =>
  Buffer.from(Array.from({ length: size }, (_, index) => (index * 31 + seed * 7) & 0xff));

const setChunkSize = (size: number): Buffer => {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(size);
  return chunksOf({ typeId: 1, payload }, { chunkStream: 2 });
};

describe('messages', () => {
  it.each([2, 63, 64, 319, 320, 65_599])('are read from chunk stream %i', (chunkStream) => {
    const payload = bytes(300);
    const sent = chunksOf({ typeId: 9, payload, timestamp: 40, streamId: 1 }, { chunkStream });
    expect(read([sent])).toEqual([{ typeId: 9, payload, timestamp: 40, streamId: 1 }]);
  });

  it('may be empty', () => {
    expect(read([chunksOf({ typeId: 8, payload: bytes(0) })])[0]!.payload).toHaveLength(0);
  });

  it('inherit from the chunk stream what a header leaves out', () => {
    const [a, b, c, d] = [bytes(5, 1), bytes(6, 2), bytes(6, 3), bytes(6, 4)];
    const messages = read([
      chunksOf({ typeId: 9, payload: a, timestamp: 1000, streamId: 1 }),
      chunksOf({ typeId: 8, payload: b, timestamp: 20 }, { format: 1 }),
      chunksOf({ typeId: 0, payload: c, timestamp: 30 }, { format: 2 }),
      chunksOf({ typeId: 0, payload: d }, { format: 3 }),
    ]);
    expect(messages.map(({ typeId, timestamp, streamId }) => [typeId, timestamp, streamId])).toEqual([
      [9, 1000, 1],
      [8, 1020, 1],
      [8, 1050, 1],
      [8, 1080, 1],
    ]);
    expect(messages.map(({ payload }) => payload)).toEqual([a, b, c, d]);
  });

  it('interleave', () => {
    const video = chunksOf({ typeId: 9, payload: bytes(200), streamId: 1 }, { chunkStream: 6 });
    const audio = chunksOf({ typeId: 8, payload: bytes(10), streamId: 1 }, { chunkStream: 4 });
    // The first chunk of video has a header of 12 bytes and 128 bytes of the message.
    const messages = read([video.subarray(0, 140), audio, video.subarray(140)]);
    expect(messages.map(({ typeId }) => typeId)).toEqual([8, 9]);
    expect(messages[1]!.payload).toEqual(bytes(200));
  });

  it('have chunks of the size that was set', () => {
    const payload = bytes(70_000);
    const video = chunksOf({ typeId: 9, payload }, { chunkSize: 60_000 });
    expect(read([setChunkSize(60_000), video])[0]!.payload).toEqual(payload);
    expect(read([setChunkSize(0x7fff_ffff), chunksOf({ typeId: 9, payload }, { chunkSize: 2 ** 24 })])).toHaveLength(1);
    expect(read([setChunkSize(1), chunksOf({ typeId: 9, payload: bytes(9) }, { chunkSize: 1 })])).toHaveLength(1);
  });

  it('are dropped by Abort', () => {
    const video = chunksOf({ typeId: 9, payload: bytes(200) }, { chunkStream: 6 });
    const abort = chunksOf({ typeId: 2, payload: Buffer.of(0, 0, 0, 6) }, { chunkStream: 2 });
    const next = chunksOf({ typeId: 8, payload: bytes(3) }, { chunkStream: 6 });
    expect(read([video.subarray(0, 140), abort, next]).map(({ typeId }) => typeId)).toEqual([8]);
  });

  it('stay as they are when later reads arrive', () => {
    const messages: RtmpMessage[] = [];
    const reader = new ChunkReader((message) => messages.push(message), LIMITS);
    reader.push(chunksOf({ typeId: 9, payload: bytes(100, 1) }));
    reader.push(chunksOf({ typeId: 9, payload: bytes(300, 2) }));
    reader.push(chunksOf({ typeId: 9, payload: bytes(300, 3) }));
    expect(messages.map(({ payload }) => payload)).toEqual([bytes(100, 1), bytes(300, 2), bytes(300, 3)]);
  });
});

describe('extended timestamps', () => {
  const timestamp = 0x1234_5678;

  it.each([true, false])('are read, repeated by chunks of type 3 or not (%s)', (repeatsExtended) => {
    const payload = bytes(400);
    const first = chunksOf({ typeId: 9, payload, timestamp }, { repeatsExtended });
    const second = chunksOf({ typeId: 9, payload, timestamp: 40 }, { format: 1 });
    const expected = [timestamp, timestamp + 40];
    for (const pieces of [[first, second], Array.from(Buffer.concat([first, second]), (byte) => Buffer.of(byte))]) {
      const messages = read(pieces);
      expect(messages.map((message) => message.timestamp)).toEqual(expected);
      expect(messages.map((message) => message.payload)).toEqual([payload, payload]);
    }
  });

  it('are not repeated where a message of a few bytes shows it', () => {
    // Of the last chunk, 1 byte is left; the next message has to show what it is.
    const first = chunksOf({ typeId: 9, payload: bytes(129), timestamp }, { repeatsExtended: false });
    const second = chunksOf({ typeId: 9, payload: bytes(0), timestamp: 1 }, { format: 1 });
    const all = Buffer.concat([first, second]);
    expect(read([all])).toHaveLength(2);
    expect(read(Array.from(all, (byte) => Buffer.of(byte))).map((message) => message.timestamp)).toEqual([
      timestamp,
      timestamp + 1,
    ]);
  });

  it('begin at 0xFFFFFF, and continue modulo 2^32', () => {
    const payload = bytes(3);
    const messages = read([
      chunksOf({ typeId: 9, payload, timestamp: 0xff_ffff }),
      chunksOf({ typeId: 9, payload, timestamp: 0xffff_ffff }),
      chunksOf({ typeId: 9, payload, timestamp: 2 }, { format: 1 }),
      chunksOf({ typeId: 9, payload, timestamp: 0xff_fffe }),
    ]);
    expect(messages.map((message) => message.timestamp)).toEqual([0xff_ffff, 0xffff_ffff, 1, 0xff_fffe]);
  });

  it('are inherited by a message that begins with type 3', () => {
    const payload = bytes(3);
    const messages = read([
      chunksOf({ typeId: 9, payload, timestamp: 100 }),
      chunksOf({ typeId: 9, payload, timestamp: 0x100_0000 }, { format: 2 }),
      chunksOf({ typeId: 9, payload }, { format: 3, extended: 0x100_0000 }),
    ]);
    expect(messages.map((message) => message.timestamp)).toEqual([100, 100 + 0x100_0000, 100 + 0x200_0000]);
  });
});

describe('limits', () => {
  it.each([
    ['too long', [chunksOf({ typeId: 9, payload: bytes(1_000_001) })]],
    ['begins inside another', [chunksOf({ typeId: 9, payload: bytes(200) }).subarray(0, 140), Buffer.alloc(12, 3)]],
    ['has not begun', [chunksOf({ typeId: 9, payload: bytes(2) }, { format: 2 })]],
    ['chunk size is invalid', [setChunkSize(0)]],
    [
      'Too many RTMP chunk streams',
      Array.from({ length: 65 }, (_, id) => chunksOf({ typeId: 9, payload: bytes(1) }, { chunkStream: 3 + id })),
    ],
    [
      'Too many unfinished',
      [6, 7, 8].map((chunkStream) =>
        chunksOf({ typeId: 9, payload: bytes(999_999) }, { chunkStream }).subarray(0, 140),
      ),
    ],
  ])('refuse: %s', (message, pieces) => {
    expect(() => read(pieces)).toThrow(message);
  });

  it('count only what is unfinished', () => {
    const messages = Array.from({ length: 5 }, () => chunksOf({ typeId: 9, payload: bytes(900_000) }));
    expect(read(messages)).toHaveLength(5);
    const aborted = Array.from({ length: 5 }, () => [
      chunksOf({ typeId: 9, payload: bytes(900_000) }, { chunkStream: 6 }).subarray(0, 140),
      chunksOf({ typeId: 2, payload: Buffer.of(0, 0, 0, 6) }, { chunkStream: 2 }),
    ]).flat();
    expect(read(aborted)).toEqual([]);
  });
});

const message = fc.record({
  typeId: fc.constantFrom(8, 9, 18, 20),
  size: fc.oneof(fc.nat(20), fc.nat(600)),
  timestamp: fc.oneof(fc.nat(0x1_0000), fc.constantFrom(0xff_fffe, 0xff_ffff, 0x100_0000, 0xffff_ffff)),
  chunkStream: fc.constantFrom(3, 4, 70, 400),
  format: fc.constantFrom(0, 1, 1, 2) as fc.Arbitrary<0 | 1 | 2>,
});

/** One list of messages as an encoder sends them, and as they should be read. */
const session = fc
  .record({ messages: fc.array(message, { maxLength: 20 }), repeatsExtended: fc.boolean() })
  .map(({ messages, repeatsExtended }) => {
    const last = new Map<number, { typeId: number; size: number; timestamp: number }>();
    const pieces: Buffer[] = [];
    const expected: RtmpMessage[] = [];
    for (const [index, { typeId, size, timestamp, chunkStream, format: wanted }] of messages.entries()) {
      const before = last.get(chunkStream);
      const format = before ? wanted : 0;
      const now = {
        typeId: before && format === 2 ? before.typeId : typeId,
        size: before && format === 2 ? before.size : size,
        timestamp: before && format > 0 ? (before.timestamp + timestamp) % 2 ** 32 : timestamp,
      };
      last.set(chunkStream, now);
      const payload = bytes(now.size, index);
      const sent: MessageToSend = { typeId: now.typeId, payload, timestamp, streamId: 1 };
      const form: ChunkForm = { chunkStream, format, repeatsExtended };
      pieces.push(chunksOf(sent, form));
      expected.push({ typeId: now.typeId, streamId: 1, timestamp: now.timestamp, payload });
    }
    // Four bytes after a header show whether an encoder repeats extended timestamps. They may be
    // those of the next message.
    const end: RtmpMessage = { typeId: 8, payload: bytes(4), timestamp: 0, streamId: 1 };
    pieces.push(chunksOf(end, { chunkStream: 5, format: 0 }));
    expected.push(end);
    return { bytes: Buffer.concat(pieces), expected };
  });

describe('any session', () => {
  it('is read the same, wherever reads end', () => {
    const cuts = fc.array(fc.nat(15), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(session, cuts, ({ bytes: all, expected }, sizes) => {
        const pieces: Buffer[] = [];
        for (let at = 0, index = 0; at < all.length; index++) {
          const size = 1 + sizes[index % sizes.length]! ** 2;
          pieces.push(Buffer.from(all.subarray(at, at + size)));
          at += size;
        }
        expect(read([all])).toEqual(expected);
        expect(read(pieces)).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('fails in one way only, when its bytes are changed', () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(session, changes, fc.uint8Array({ maxLength: 64 }), ({ bytes: all }, changed, tail) => {
        const mutated = Buffer.concat([all, tail]);
        for (const [at, value] of changed) if (mutated.length > 0) mutated[at % mutated.length] = value;
        try {
          read([mutated]);
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid_parameters' });
        }
      }),
      { numRuns: 500 },
    );
  });
});

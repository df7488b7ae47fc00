import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { audioSpecificConfig } from '../codecs/aac.js';
import { readAdtsHeader, writeAdtsHeader } from '../codecs/adts.js';
import { buildAvcc } from '../codecs/avc.js';
import { type AacFrame, AdtsFrames } from './adts-frames.js';
import { type ByteStreamFrame, readByteStreamFrame } from './byte-stream-frames.js';
import { Demuxer } from './demuxer.js';
import { Muxer } from './muxer.js';
import { PACKET_BYTES } from './packet-reader.js';
import { PesReader } from './pes-reader.js';
import { readAssociation, readProgramMap, SectionReader, writeAssociation, writeProgramMap } from './sections.js';
import type { ChosenStreams } from './stream-types.js';
import { TransportClock, timestampDistance } from './transport-clock.js';

/** 320 × 176, Baseline. */
const SPS = Buffer.from('6742c01eda0505e4', 'hex');
const PPS = Buffer.from('68ce3c80', 'hex');
const avcc = buildAvcc([SPS], [PPS]);
const aac = audioSpecificConfig(48_000, 2);

/** A frame of one NAL unit, without anything that looks like a start code. */
const sampleOf = (isKey: boolean, size: number): Uint8Array => {
  const unit = Buffer.alloc(size, 0xa5);
  unit[0] = isKey ? 0x65 : 0x41;
  const length = Buffer.alloc(4);
  length.writeUInt32BE(size);
  return Buffer.concat([length, unit]);
};

interface Video extends ByteStreamFrame {
  readonly pts: number | undefined;
  readonly dts: number | undefined;
  readonly isAfterLoss: boolean;
}

const demux = () => {
  const streams: ChosenStreams[] = [];
  const video: Video[] = [];
  const audio: AacFrame[] = [];
  const frames = new AdtsFrames();
  const demuxer = new Demuxer({
    streams: (chosen) => void streams.push(chosen),
    packet: (codec, { pts, dts, data }, isAfterLoss) => {
      if (codec !== 'aac') video.push({ ...readByteStreamFrame(codec, data), pts, dts, isAfterLoss });
      else audio.push(...(frames.push(data, pts) as AacFrame[]));
    },
  });
  return { demuxer, streams, video, audio };
};

const open = (): Muxer => {
  const muxer = new Muxer();
  expect([muxer.setVideo('avc', avcc), muxer.setAudio(aac)]).toEqual([true, true]);
  return muxer;
};

/** Where the muxer begins times. */
const DELAY = 63_000;
const WRAP = 2 ** 33;

describe('a transport stream', () => {
  it('has what was written, in pieces of any size, over the wrap of its times', () => {
    const frames = fc.array(fc.record({ isKey: fc.boolean(), size: fc.integer({ min: 1, max: 2000 }) }), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(frames, fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1 }), (sent, pieces) => {
        const muxer = open();
        const start = WRAP - 30_000 - DELAY;
        const parts = sent.flatMap(({ isKey, size }, index) => {
          const dts = start + index * 3000;
          const frame = sampleOf(isKey, size);
          return [muxer.video(frame, isKey, { dts, pts: dts + 6000 }), muxer.audio(Buffer.alloc(size % 600, 1), dts)];
        });
        const bytes = Buffer.concat(parts);
        expect(bytes.length % PACKET_BYTES).toBe(0);
        const { demuxer, streams, video, audio } = demux();
        for (let at = 0, piece = 0; at < bytes.length; piece += 1) {
          const size = pieces[piece % pieces.length]!;
          demuxer.push(bytes.subarray(at, at + size));
          at += size;
        }
        demuxer.flush();
        expect(streams).toEqual([{ video: { pid: 0x100, codec: 'avc' }, audio: { pid: 0x101, codec: 'aac' } }]);
        expect(video.map(({ data }) => Buffer.from(data).toString('hex'))).toEqual(
          sent.map(({ isKey, size }) => Buffer.from(sampleOf(isKey, size)).toString('hex')),
        );
        expect(video.map(({ isKey }) => isKey)).toEqual(sent.map(({ isKey }) => isKey));
        for (const [index, { dts, pts, record, isKey, isAfterLoss }] of video.entries()) {
          expect(dts).toBe((start + index * 3000 + DELAY) % WRAP);
          expect(timestampDistance(dts!, pts!)).toBe(6000);
          expect(isAfterLoss).toBe(false);
          expect(record).toEqual(isKey ? avcc : undefined);
        }
        const sizes = sent.map(({ size }) => size % 600).filter((size) => size > 0);
        expect(audio.map(({ data }) => data.length)).toEqual(sizes);
        expect(audio.every(({ record }) => Buffer.compare(record, aac) === 0)).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  it('says after which losses a frame comes', () => {
    const muxer = open();
    const parts = [0, 1, 2, 3].map((index) =>
      Buffer.from(muxer.video(sampleOf(index === 0, 1000), index === 0, { dts: index * 3000, pts: index * 3000 })),
    );
    const { demuxer, video } = demux();
    demuxer.push(parts[0]!);
    // The second packet of the second frame is missing.
    demuxer.push(parts[1]!.subarray(0, PACKET_BYTES));
    demuxer.push(parts[1]!.subarray(2 * PACKET_BYTES));
    demuxer.push(parts[2]!);
    demuxer.push(parts[3]!);
    demuxer.flush();
    expect(video.map(({ dts, isAfterLoss }) => [dts! - DELAY, isAfterLoss])).toEqual([
      [0, false],
      [6000, true],
      [9000, false],
    ]);
  });

  it('goes on with the first packet after a long loss', () => {
    const muxer = open();
    const parts = Array.from({ length: 18 }, (_, index) =>
      muxer.video(sampleOf(index === 0, 100), index === 0, { dts: index * 3000, pts: index * 3000 }),
    );
    const { demuxer, video } = demux();
    demuxer.push(parts[0]!);
    // The counter has the same value again.
    demuxer.lose(16);
    demuxer.push(parts[16]!);
    demuxer.push(parts[17]!);
    demuxer.flush();
    expect(video.map(({ dts, isAfterLoss }) => [(dts! - DELAY) / 3000, isAfterLoss])).toEqual([
      [16, true],
      [17, false],
    ]);
  });

  it('needs a key frame of a video stream that is added', () => {
    const muxer = new Muxer();
    const { demuxer, video } = demux();
    muxer.setAudio(aac);
    demuxer.push(muxer.audio(Buffer.alloc(100), 0));
    muxer.setVideo('avc', avcc);
    demuxer.push(muxer.video(sampleOf(true, 100), true, { dts: 3000, pts: 3000 }));
    demuxer.flush();
    expect(video.map(({ isAfterLoss }) => isAfterLoss)).toEqual([true]);
  });

  it('has no decoder configuration that is huge', () => {
    const startCode = Buffer.of(0, 0, 1);
    const recordOf = (spsBytes: number) => {
      const sps = Buffer.concat([SPS, Buffer.alloc(spsBytes - SPS.length, 0xa5)]);
      const bytes = Buffer.concat([
        startCode,
        sps,
        startCode,
        PPS,
        sampleOf(true, 10).fill(0).fill(1, 2, 3).fill(0x65, 4),
      ]);
      return readByteStreamFrame('avc', bytes).record;
    };
    expect(recordOf(60_000)).toBeDefined();
    expect(recordOf(66_000)).toBeUndefined();
  });

  it('leaves out what is sent twice, damaged or scrambled', () => {
    const muxer = open();
    const first = Buffer.from(muxer.video(sampleOf(true, 400), true, { dts: 0, pts: 0 }));
    const second = Buffer.from(muxer.video(sampleOf(false, 400), false, { dts: 3000, pts: 3000 }));
    const third = Buffer.from(muxer.video(sampleOf(false, 400), false, { dts: 6000, pts: 6000 }));
    second[PACKET_BYTES + 1]! |= 0x80;
    const { demuxer, video } = demux();
    const packets = (bytes: Buffer) =>
      Array.from({ length: bytes.length / PACKET_BYTES }, (_, at) =>
        bytes.subarray(at * PACKET_BYTES, (at + 1) * PACKET_BYTES),
      );
    for (const packet of packets(first)) demuxer.push(Buffer.concat([packet, packet]));
    demuxer.push(second);
    demuxer.push(third);
    demuxer.flush();
    expect(video.map(({ dts, isAfterLoss }) => [dts! - DELAY, isAfterLoss])).toEqual([
      [0, false],
      [6000, true],
    ]);
    expect(Buffer.from(video[0]!.data)).toEqual(sampleOf(true, 400));
  });

  it('never fails, whatever arrives', () => {
    const muxer = open();
    const bytes = Buffer.concat(
      [0, 1, 2].flatMap((index) => [
        muxer.video(sampleOf(index === 0, 700), index === 0, { dts: index * 3000, pts: index * 3000 }),
        muxer.audio(Buffer.alloc(300), index * 3000),
      ]),
    );
    const changes = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { maxLength: 40 });
    fc.assert(
      fc.property(changes, (list) => {
        const damaged = Buffer.from(bytes);
        for (const [at, value] of list) damaged[at] = value;
        const { demuxer, video } = demux();
        demuxer.push(damaged);
        demuxer.lose(20);
        demuxer.push(damaged);
        demuxer.flush();
        for (const { data } of video) expect(data.length).toBeLessThan(2 * bytes.length);
      }),
      { numRuns: 100 },
    );
  });

  it('names codecs that can not be read', () => {
    const map = (types: readonly number[]) => {
      const { demuxer, streams } = demux();
      const streamsOf = types.map((type, index) => ({ pid: 0x100 + index, type }));
      const packet = (pid: number, section: Buffer) =>
        Buffer.concat([Buffer.of(0x47, 0x40 | (pid >> 8), pid & 0xff, 0x10, 0), section], PACKET_BYTES).fill(
          0xff,
          5 + section.length,
        );
      demuxer.push(packet(0, writeAssociation(0x1000)));
      demuxer.push(packet(0x1000, writeProgramMap(streamsOf, 0x100, 0)));
      return streams[0];
    };
    expect(map([0x02, 0x81])).toEqual({ unreadableVideo: 'MPEG-2', unreadableAudio: 'AC-3' });
    expect(map([0x06, 0x24])).toEqual({ video: { pid: 0x101, codec: 'hevc' } });
    expect(map([0x1b, 0x11, 0x0f])).toMatchObject({ audio: { pid: 0x102 } });
  });
});

it('keeps a limited number of parts of a packet that does not end', () => {
  const reader = new PesReader();
  reader.push(Buffer.of(0, 0, 1, 0xe0, 0, 0, 0x80, 0, 0), true);
  for (let part = 0; part < 50_000; part += 1) reader.push(Buffer.of(1), false);
  expect(reader.isOpen).toBe(false);
});

describe('sections', () => {
  it('are read from any pieces, and only undamaged ones', () => {
    const section = writeProgramMap([{ pid: 0x123, type: 0x1b }], 0x123, 3);
    expect(readProgramMap(section)).toEqual([{ pid: 0x123, type: 0x1b, format: '', tags: [] }]);
    expect(readAssociation(writeAssociation(0x1abc))).toBe(0x1abc);
    const reader = new SectionReader();
    expect(reader.push(Buffer.concat([Buffer.of(0), section.subarray(0, 5)]), true)).toEqual([]);
    expect(reader.push(Buffer.concat([section.subarray(5), Buffer.alloc(9, 0xff)]), false)).toEqual([section]);
    for (const at of section.keys()) {
      const damaged = Buffer.from(section);
      damaged[at]! ^= 0x10;
      expect(new SectionReader().push(Buffer.concat([Buffer.of(0), damaged]), true)).toEqual([]);
    }
  });
});

describe('frames of AAC', () => {
  const frame = (size: number): Buffer => Buffer.concat([writeAdtsHeader(aac, size)!, Buffer.alloc(size, 7)]);
  const STEP = (1024 * 90_000) / 48_000;

  it('follow each other in a packet, and go on in the next one', () => {
    const bytes = Buffer.concat([frame(100), frame(200), frame(300)]);
    const frames = new AdtsFrames();
    const first = frames.push(bytes.subarray(0, 250), 9000) as AacFrame[];
    // The time is that of the frame that begins in this packet.
    const second = frames.push(bytes.subarray(250), 20_000) as AacFrame[];
    expect([...first, ...second].map(({ ticks, data }) => [ticks, data.length])).toEqual([
      [9000, 100],
      [9000 + STEP, 200],
      [20_000, 300],
    ]);
    expect((frames.push(frame(50), undefined) as AacFrame[])[0]!.ticks).toBe(20_000 + STEP);
    frames.lose();
    expect(frames.push(frame(50), undefined)).toEqual([]);
  });

  it('are found behind data that looks like a header of another kind', () => {
    const frames = new AdtsFrames();
    frames.lose();
    const other = writeAdtsHeader(aac, 10)!;
    other[2]! &= 0x3f;
    const read = frames.push(Buffer.concat([other, frame(100), frame(100)]), 0) as AacFrame[];
    expect(read.map(({ data }) => data.length)).toEqual([100, 100]);
  });

  it('are found behind garbage, and refused in other forms', () => {
    const frames = new AdtsFrames().push(Buffer.concat([Buffer.from('garbage'), frame(10)]), 0) as AacFrame[];
    expect(frames.map(({ data }) => data.length)).toEqual([10]);
    const main = frame(10);
    main[2]! &= 0x3f;
    expect(new AdtsFrames().push(main, 0)).toContain('AAC of kind 1');
    const unknown = frame(10);
    unknown[2]! &= 0xfe;
    unknown[3]! &= 0x3f;
    expect(new AdtsFrames().push(unknown, 0)).toContain('can not be read');
    expect(readAdtsHeader(Buffer.alloc(7), 0)).toBeUndefined();
    expect(writeAdtsHeader(aac, 8190)).toBeUndefined();
  });
});

it('continues times over their wrap, and follows jumps', () => {
  const clock = new TransportClock();
  expect([WRAP - 10, 5, WRAP - 20, 20].map((time) => clock.unwrap(time))).toEqual([
    2 * WRAP - 10,
    2 * WRAP + 5,
    2 * WRAP - 20,
    2 * WRAP + 20,
  ]);
  const begun = new TransportClock();
  // Audio may precede the first frame of video.
  const start = begun.unwrap(5);
  expect(begun.unwrap(WRAP - 20) - start).toBe(-25);
});

import { AVERROR_EOF, AVERROR_INVALIDDATA } from 'node-av/constants';
import { FormatContext, type Packet, type Stream } from 'node-av/lib';
import { type RepairedTimestamps, repairTimestamps } from '../../media/source/repair-timestamps.js';
import type { ConcatenateJob, MediaResults } from '../../pool/protocol.js';
import { check, NO_PTS, newPacket } from '../ffmpeg/av.js';
import { openSource, readOnly, readPacket, streamAt } from '../ffmpeg/open-source.js';

const MAX_READ_ERRORS = 20;

/**
 * One of several recordings in a file, over all its streams; in stream ticks (MPEG: 1/90,000 s).
 */
interface Recording {
  readonly start: number;
  readonly end: number;
}

interface StreamTimes {
  readonly pts: number[];
  readonly dts: number[];
  readonly duration: number[];
}

/**
 * Copies an MPEG transport or program stream whose clock jumps, or in which single time stamps are
 * wrong, into a transport stream that plays its recordings one after the other with plausible
 * times. Nothing is decoded. The first of two passes finds where each recording starts and ends.
 */
export const concatenateRecordings = (job: ConcatenateJob): MediaResults['concatenate'] => {
  const columns = new Map<number, StreamTimes>();
  let ticksPerSecond = 1;
  readPackets(job, (packet, stream) => {
    ticksPerSecond = stream.timeBase.den / stream.timeBase.num;
    const column = columns.get(stream.index) ?? { pts: [], dts: [], duration: [] };
    columns.set(stream.index, column);
    column.pts.push(ticksOf(packet.pts));
    column.dts.push(ticksOf(packet.dts));
    column.duration.push(Number(packet.duration));
  });
  const times = repairAll(columns, ticksPerSecond);
  const recordings: Recording[] = [];
  for (const [index, { pts, recording }] of times) {
    const { duration } = columns.get(index)!;
    pts.forEach((start, packet) => {
      if (Number.isNaN(start)) return;
      const end = start + duration[packet]!;
      const span = recordings[recording[packet]!];
      recordings[recording[packet]!] = {
        start: Math.min(span?.start ?? start, start),
        end: Math.max(span?.end ?? end, end),
      };
    });
  }
  const wrongTimes = [...times.values()].reduce((sum, { wrong }) => sum + wrong, 0);
  if (recordings.length < 2 && wrongTimes === 0) return { recordings: recordings.length, wrongTimes };
  let end = 0;
  const shifts = recordings.map((part) => {
    const shift = end - part.start;
    end += part.end - part.start;
    return shift;
  });
  writeConcatenated(job, times, shifts);
  return { recordings: recordings.length, wrongTimes };
};

/** When one stream jumps forward and another continues, it is a gap and not the clock. */
const repairAll = (
  columns: ReadonlyMap<number, StreamTimes>,
  ticksPerSecond: number,
): ReadonlyMap<number, RepairedTimestamps> => {
  const repair = (maxStepSeconds?: number): Map<number, RepairedTimestamps> =>
    new Map([...columns].map(([index, column]) => [index, repairTimestamps(column, ticksPerSecond, maxStepSeconds)]));
  const times = repair();
  const counts = new Set([...times.values()].map(({ recordings }) => recordings));
  return counts.size > 1 ? repair(Number.POSITIVE_INFINITY) : times;
};

const ticksOf = (time: bigint): number => (time === NO_PTS ? Number.NaN : Number(time));

const writeConcatenated = (
  job: ConcatenateJob,
  times: ReadonlyMap<number, RepairedTimestamps>,
  shifts: readonly number[],
): void => {
  const output = new FormatContext();
  check(output.allocOutputContext2(null, 'mpegts', job.outPath), 'concatenated file');
  try {
    const tracks = new Map<number, { readonly stream: Stream; packet: number; lastDts: number }>();
    readPackets(job, (packet, stream, streams) => {
      if (tracks.size === 0) {
        for (const each of streams)
          tracks.set(each.index, { stream: addTrack(output, each), packet: 0, lastDts: Number.NEGATIVE_INFINITY });
        check(output.openOutputSync(), 'concatenated file');
        check(output.writeHeaderSync(null), 'concatenated file');
      }
      const track = tracks.get(stream.index)!;
      const { dts, pts, recording } = times.get(stream.index)!;
      const number = track.packet;
      track.packet += 1;
      const shift = shifts[recording[number]!] ?? 0;
      const shown = pts[number]! + shift;
      const decoded = Number.isNaN(dts[number]!) ? shown : dts[number]! + shift;
      // A packet without times can't be placed: it is the rest of a frame that began before the
      // jump.
      if (Number.isNaN(decoded)) return;
      track.lastDts = Math.max(decoded, track.lastDts + 1);
      packet.dts = BigInt(track.lastDts);
      packet.pts = Number.isNaN(shown) ? NO_PTS : BigInt(Math.max(shown, track.lastDts));
      packet.rescaleTs(stream.timeBase, track.stream.timeBase);
      packet.streamIndex = track.stream.index;
      packet.pos = -1n;
      const code = output.interleavedWriteFrameSync(packet);
      // For audio without its own header, the muxer drops packets that no decoder would accept.
      if (code !== AVERROR_INVALIDDATA) check(code, 'write concatenated file');
    });
    check(output.writeTrailerSync(), 'write concatenated file');
  } finally {
    output.closeOutputSync();
    output.freeContext();
  }
};

const addTrack = (output: FormatContext, source: Stream): Stream => {
  const track = output.newStream(null);
  check(source.codecpar.copy(track.codecpar), 'concatenated track');
  track.codecpar.codecTag = 0;
  track.timeBase = source.timeBase;
  return track;
};

/** Calls `use` for every packet of the job's streams in file order. */
const readPackets = (
  job: ConcatenateJob,
  use: (packet: Packet, stream: Stream, streams: readonly Stream[]) => void,
): void => {
  const format = openSource(job.source);
  try {
    using packet = newPacket();
    const streams = job.streamIndexes.map((index) => streamAt(format, index));
    readOnly(format, job.streamIndexes);
    for (let errors = 0; errors <= MAX_READ_ERRORS; ) {
      const code = readPacket(format, packet);
      if (code === AVERROR_EOF) return;
      if (code < 0) {
        errors += 1;
        continue;
      }
      const stream = streams.find(({ index }) => index === packet.streamIndex);
      if (stream) use(packet, stream, streams);
      packet.unref();
    }
  } finally {
    format.closeInputSync();
  }
};

import { AVERROR_EOF } from 'node-av/constants';
import { FormatContext, type Packet, type Stream } from 'node-av/lib';
import type { JoinJob, MediaResults } from '../pool/protocol.js';
import { check, NO_PTS, newPacket } from './av.js';
import { openSource, readOnly, streamAt } from './open-source.js';

/** A hole this long is a jump of the clock; the same limit marks an index as discontinuous. */
const MAX_STEP_SECONDS = 10;
const MAX_READ_ERRORS = 20;

/** One recording in a file that joins several; stream ticks (MPEG: 1/90,000 s), over all its streams. */
interface Part {
  start: number;
  end: number;
}

/**
 * Copies the packets of an MPEG transport or program stream whose clock jumps into a transport stream in which the
 * recordings are laid end to end. Nothing is decoded. Two passes: the first finds where each recording starts and ends.
 */
export const joinRecordings = (job: JoinJob): MediaResults['join'] => {
  const parts: Part[] = [];
  readPackets(job, (packet, _stream, part) => {
    if (packet.pts === NO_PTS) return;
    const pts = Number(packet.pts);
    const known = parts[part];
    if (!known) parts[part] = { start: pts, end: pts + Number(packet.duration) };
    else {
      known.start = Math.min(known.start, pts);
      known.end = Math.max(known.end, pts + Number(packet.duration));
    }
  });
  if (parts.length < 2) return { recordings: parts.length };
  let end = 0;
  const shifts = parts.map((part) => {
    const shift = end - part.start;
    end += part.end - part.start;
    return BigInt(shift);
  });
  writeJoined(job, shifts);
  return { recordings: parts.length };
};

const writeJoined = (job: JoinJob, shifts: readonly bigint[]): void => {
  const output = new FormatContext();
  check(output.allocOutputContext2(null, 'mpegts', job.outPath), 'joined file');
  try {
    const tracks = new Map<number, Stream>();
    let opened = false;
    readPackets(job, (packet, stream, part, streams) => {
      if (!opened) {
        for (const each of streams) tracks.set(each.index, addTrack(output, each));
        check(output.openOutputSync(), 'joined file');
        check(output.writeHeaderSync(null), 'joined file');
        opened = true;
      }
      // A packet without times cannot be placed: the rest of a picture that began before the jump.
      if (packet.dts === NO_PTS && packet.pts === NO_PTS) return;
      const track = tracks.get(stream.index)!;
      const shift = shifts[part]!;
      if (packet.pts !== NO_PTS) packet.pts += shift;
      packet.dts = packet.dts === NO_PTS ? packet.pts : packet.dts + shift;
      packet.rescaleTs(stream.timeBase, track.timeBase);
      packet.streamIndex = track.index;
      packet.pos = -1n;
      check(output.interleavedWriteFrameSync(packet), 'write joined file');
    });
    check(output.writeTrailerSync(), 'write joined file');
  } finally {
    output.closeOutputSync();
    output.freeContext();
  }
};

const addTrack = (output: FormatContext, source: Stream): Stream => {
  const track = output.newStream(null);
  check(source.codecpar.copy(track.codecpar), 'joined track');
  track.codecpar.codecTag = 0;
  track.timeBase = source.timeBase;
  return track;
};

/**
 * Calls `use` for every packet of the job's streams with the number of the recording it belongs to. Streams reach a jump
 * one after the other, because their packets end at different places, so each counts its own.
 */
const readPackets = (
  job: JoinJob,
  use: (packet: Packet, stream: Stream, part: number, streams: readonly Stream[]) => void,
): void => {
  const format = openSource(job.source);
  const packet = newPacket();
  try {
    const streams = job.streamIndexes.map((index) => streamAt(format, index));
    readOnly(format, job.streamIndexes);
    const clocks = new Map(
      streams.map((stream) => [stream.index, { stream, part: 0, last: undefined as number | undefined }]),
    );
    for (let errors = 0; errors <= MAX_READ_ERRORS; ) {
      const code = format.readFrameSync(packet);
      if (code === AVERROR_EOF) return;
      if (code < 0) {
        errors += 1;
        continue;
      }
      const clock = clocks.get(packet.streamIndex);
      const time = packet.dts === NO_PTS ? packet.pts : packet.dts;
      if (clock && time !== NO_PTS) {
        const now = Number(time);
        const maxStep = (MAX_STEP_SECONDS * clock.stream.timeBase.den) / clock.stream.timeBase.num;
        if (clock.last !== undefined && (now < clock.last || now - clock.last > maxStep)) clock.part += 1;
        clock.last = now;
      }
      if (clock) use(packet, clock.stream, clock.part, streams);
      packet.unref();
    }
  } finally {
    packet.free();
    format.closeInputSync();
  }
};

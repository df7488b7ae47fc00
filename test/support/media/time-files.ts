/**
 * MP4 files with any times: a few encoded streams, whose sample tables are written anew for each
 * file.
 */
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const WIDTH = 160;
const HEIGHT = 90;
const COUNTER_BITS = 16;

/** Gray frames with the counter that `readFrameCounters` reads. */
const paintFrame = (counter: number): Buffer => {
  const frame = Buffer.alloc((WIDTH * HEIGHT * 3) / 2, 128);
  for (let y = 0; y < Math.floor(HEIGHT / 12); y++) {
    for (let x = 0; x < WIDTH; x++) {
      const bit = (counter >> (COUNTER_BITS - 1 - Math.floor((x * COUNTER_BITS) / WIDTH))) & 1;
      frame[y * WIDTH + x] = bit === (y < HEIGHT / 24 ? 1 : 0) ? 235 : 16;
    }
  }
  return frame;
};

const FRAME_RATE = 25;

const FFMPEG = 'ffmpeg';

/** Encodes `count` frames with the `ffmpeg` command, 25 per second. */
export const encodeFrames = (path: string, count: number, args: readonly string[]): void => {
  const input = Buffer.concat(Array.from({ length: count }, (_, counter) => paintFrame(counter)));
  const raw = ['-f', 'rawvideo', '-pix_fmt', 'yuv420p', '-s', `${WIDTH}x${HEIGHT}`, '-r', String(FRAME_RATE)];
  execFileSync(FFMPEG, ['-v', 'error', '-y', ...raw, '-i', '-', '-threads', '1', ...args, path], { input });
};

export const run = (...args: string[]): void => void execFileSync(FFMPEG, ['-v', 'error', '-y', ...args]);

const u32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => {
    bytes.writeInt32BE(value | 0, 4 * index);
  });
  return bytes;
};
const box = (type: string, ...content: Buffer[]): Buffer => {
  const body = Buffer.concat(content);
  return Buffer.concat([u32(body.length + 8), Buffer.from(type), body]);
};

const CONTAINERS = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl']);

/**
 * Calls `change` for every box below `bytes`, innermost first; what it returns replaces the box.
 */
const rewrite = (bytes: Buffer, change: (type: string, content: Buffer) => readonly Buffer[] | undefined): Buffer => {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    const content = bytes.subarray(at + 8, at + size);
    const inner = CONTAINERS.has(type) ? rewrite(content, change) : content;
    parts.push(...(change(type, inner) ?? [box(type, inner)]));
    at += size;
  }
  return Buffer.concat(parts);
};

/** How long each frame is displayed, in ticks, in the order of display. */
export interface Timing {
  readonly timescale: number;
  readonly durations: readonly number[];
  /** In ticks; what the edit list says. */
  readonly edit?: { readonly emptyTicks?: number; readonly startTicks?: number; readonly endTicks?: number };
  /** Leave out composition times: frames then have the times at which they are decoded. */
  readonly withoutComposition?: boolean;
  /** The only sample that is marked as a key frame is the first one. */
  readonly oneKeyFrame?: boolean;
}

/** In decode order: the number of each frame in the order of display. */
const displayOrder = (stbl: Buffer, count: number): number[] => {
  const offsets: number[] = [];
  const at = stbl.indexOf('ctts');
  const rows = at === -1 ? 0 : stbl.readUInt32BE(at + 8);
  for (let row = 0; row < rows; row++) {
    const samples = stbl.readUInt32BE(at + 12 + 8 * row);
    for (let sample = 0; sample < samples; sample++) offsets.push(stbl.readInt32BE(at + 16 + 8 * row));
  }
  const stts = stbl.indexOf('stts');
  const delta = stbl.readUInt32BE(stts + 16);
  const times = Array.from({ length: count }, (_, sample) => sample * delta + (offsets[sample] ?? 0));
  const sorted = times.toSorted((a, b) => a - b);
  return times.map((time) => sorted.indexOf(time));
};

/**
 * A copy of a file with one video track, its `moov` at the end, with other times. Frames are
 * decoded as late as possible without negative offsets.
 */
const withTimes = (source: Buffer, timing: Timing): Buffer => {
  const { timescale, durations, edit } = timing;
  const moovAt = source.lastIndexOf('moov') - 4;
  const moov = source.subarray(moovAt);
  const order = displayOrder(moov, durations.length);
  const starts: number[] = [0];
  for (const duration of durations) starts.push(starts.at(-1)! + duration);
  const total = starts.pop()!;
  // Decode times are the times of display in ascending order; offsets are made positive by one
  // shift.
  const offsets = order.map((frame, sample) => starts[frame]! - starts[sample]!);
  const shift = timing.withoutComposition ? 0 : -Math.min(...offsets);
  const startTicks = shift + (edit?.startTicks ?? 0);
  const shown = (edit?.endTicks ?? total) - (edit?.startTicks ?? 0);
  const empty = edit?.emptyTicks ?? 0;
  const entries = [...(empty > 0 ? [[empty, -1]] : []), [shown, startTicks]];
  const hasEdits = edit !== undefined || shift > 0;
  const elst = box('elst', u32(0, entries.length), ...entries.map(([ticks, time]) => u32(ticks!, time!, 0x10000)));
  const changed = rewrite(moov, (type, content) => {
    const patched = Buffer.from(content);
    if (type === 'mvhd') {
      patched.writeUInt32BE(timescale, 12);
      patched.writeUInt32BE(empty + shown, 16);
      return [box(type, patched)];
    }
    if (type === 'mdhd') {
      patched.writeUInt32BE(timescale, 12);
      patched.writeUInt32BE(total, 16);
      return [box(type, patched)];
    }
    if (type === 'tkhd') {
      patched.writeUInt32BE(empty + shown, 20);
      return [box(type, patched), ...(hasEdits ? [box('edts', elst)] : [])];
    }
    if (type === 'edts' || type === 'ctts') return [];
    if (type === 'stss' && timing.oneKeyFrame) return [box(type, u32(0, 1, 1))];
    if (type !== 'stts') return undefined;
    const stts = box('stts', u32(0, durations.length), ...durations.map((ticks) => u32(1, ticks)));
    const ctts = box('ctts', u32(0, offsets.length), ...offsets.map((offset) => u32(1, offset + shift)));
    const isReordered = offsets.some((offset) => offset !== 0) && !timing.withoutComposition;
    return [stts, ...(isReordered ? [ctts] : [])];
  });
  return Buffer.concat([source.subarray(0, moovAt), changed]);
};

export interface ExpectedFrame {
  readonly counter: number;
  /** On the timeline of the presentation. */
  readonly seconds: number;
}

/** What a viewer must see of a file of `withTimes`: zero is the first displayed frame. */
export const expectedFrames = ({ timescale, durations, edit = {} }: Timing): ExpectedFrame[] => {
  const { startTicks = 0, endTicks = Number.POSITIVE_INFINITY } = edit;
  let ticks = 0;
  const all = durations.map((duration, counter) => {
    const frame = { counter, ticks };
    ticks += duration;
    return frame;
  });
  const shown = all.filter((frame) => frame.ticks >= startTicks && frame.ticks < endTicks);
  const zero = shown[0]!.ticks;
  return shown.map((frame) => ({ counter: frame.counter, seconds: (frame.ticks - zero) / timescale }));
};

export const writeTimes = (folder: string, name: string, source: string, timing: Timing): string => {
  const path = join(folder, name);
  writeFileSync(path, withTimes(readFileSync(source), timing));
  return path;
};

/**
 * A copy of an H.264 elementary stream of the Main profile whose SPS has no VUI: no frame rate, no
 * reordering depth.
 */
export const withoutVui = (stream: Buffer): Buffer => {
  const parts: Buffer[] = [];
  for (const nal of stream
    .toString('latin1')
    .split(/\0?\0\0\x01/)
    .slice(1)) {
    const bytes = Buffer.from(nal, 'latin1');
    parts.push(u32(1), (bytes[0]! & 31) === 7 ? spsWithoutVui(bytes) : bytes);
  }
  return Buffer.concat(parts);
};

/** ITU-T H.264, 7.3.2.1.1. */
const spsWithoutVui = (nal: Buffer): Buffer => {
  const text = nal.toString('latin1').replace(/\0\0\x03/g, '\0\0');
  const bits = Array.from(Buffer.from(text, 'latin1'), (byte) => byte.toString(2).padStart(8, '0')).join('');
  let at = 32;
  const flag = (): boolean => bits[at++] === '1';
  const golomb = (): number => {
    const zeros = bits.indexOf('1', at) - at;
    at += 2 * zeros + 1;
    return Number.parseInt(bits.slice(at - zeros - 1, at), 2) - 1;
  };
  golomb(); // ID
  golomb(); // frame numbers
  if (golomb() === 0) golomb(); // picture order
  golomb(); // references
  flag();
  golomb(); // width
  golomb(); // height
  if (!flag()) flag(); // only frames, no fields
  flag();
  if (flag()) for (let side = 0; side < 4; side++) golomb();
  const kept = `${bits.slice(0, at)}01`;
  const padded = kept.padEnd(8 * Math.ceil(kept.length / 8), '0');
  const bytes = Buffer.from(padded.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)));
  return Buffer.from(bytes.toString('latin1').replace(/\0\0(?=[\0-\x03])/g, '\0\0\x03'), 'latin1');
};

/**
 * A copy of a file with MPEG-4 video, 25 frames a second, in which the frames [from, until) hold no
 * picture (N-VOPs).
 */
export const withoutVops = (file: Buffer, from: number, until: number): Buffer => {
  const bytes = Buffer.from(file);
  for (let frame = 0, at = bytes.indexOf('000001b6', 0, 'hex'); at !== -1; frame++) {
    if (frame >= from && frame < until) {
      // After the type: ones until a zero, a marker, 5 bits of time, a marker, `vop_coded`.
      let bit = 8 * (at + 4) + 2;
      const isSet = (): boolean => ((bytes[bit >> 3]! >> (7 - (bit & 7))) & 1) === 1;
      while (isSet()) bit += 1;
      bit += 8;
      bytes[bit >> 3]! &= ~(1 << (7 - (bit & 7)));
    }
    at = bytes.indexOf('000001b6', at + 4, 'hex');
  }
  return bytes;
};

/**
 * The second GOP of an MPEG-2 stream and all after it, with the mark of a closed GOP: it begins
 * with B-frames.
 */
export const fromSecondGop = (stream: Buffer): Buffer => {
  const gop = (from: number): number => stream.indexOf('000001b8', from, 'hex');
  const first = gop(0);
  const header = stream.subarray(0, first);
  // Sequence headers are repeated before each GOP.
  const rest = Buffer.from(stream.subarray(gop(first + 4)));
  rest[7]! |= 0x40;
  return Buffer.concat([header, rest]);
};

/** The times at which the `ffprobe` command sees frames of a file or a playlist. */
export const frameTimes = async (input: string): Promise<number[]> => {
  const args = [
    '-v',
    'error',
    '-select_streams',
    'v:0',
    '-show_entries',
    'frame=best_effort_timestamp_time',
    '-of',
    'csv=p=0',
  ];
  const { stdout } = await promisify(execFile)('ffprobe', [...args, input]);
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [Number.parseFloat(line)]));
};

/**
 * Files that no encoder of the build writes: what old phones and careless programs leave behind.
 */
import {
  AV_CODEC_ID_AMR_WB,
  AV_CODEC_ID_PNG,
  AV_DISPOSITION_ATTACHED_PIC,
  AV_DISPOSITION_DEFAULT,
  AV_PKT_FLAG_KEY,
  AVMEDIA_TYPE_AUDIO,
  AVMEDIA_TYPE_VIDEO,
} from 'node-av/constants';
import { avChannelLayoutDefault, Codec, FFmpegError, FormatContext, Packet } from 'node-av/lib';

/**
 * Speech of random content, 50 frames a second (3GPP TS 26.101 and 26.201; RFC 4867 for the files).
 */
const AMR = {
  // node-av has no constant for this one.
  nb: {
    codecId: Codec.findDecoderByName('amrnb' as never)!.id,
    sampleRate: 8000,
    header: 0x3c,
    bytes: 31,
    magic: '#!AMR\n',
  },
  wb: { codecId: AV_CODEC_ID_AMR_WB, sampleRate: 16000, header: 0x44, bytes: 60, magic: '#!AMR-WB\n' },
} as const;
type AmrKind = keyof typeof AMR;
const AMR_FRAMES_PER_SECOND = 50;

const amrFrames = (kind: AmrKind, seconds: number): Buffer[] => {
  let state = 1;
  return Array.from({ length: seconds * AMR_FRAMES_PER_SECOND }, () => {
    const frame = Buffer.alloc(1 + AMR[kind].bytes, AMR[kind].header);
    for (let i = 1; i < frame.length; i++) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      frame[i] = state >> 16;
    }
    return frame;
  });
};

export const amrFile = (kind: AmrKind, seconds: number): Buffer =>
  Buffer.concat([Buffer.from(AMR[kind].magic), ...amrFrames(kind, seconds)]);

/** A tag of a Flash video (Adobe's Video File Format, E.4.1), followed by its size. */
const flvTag = (type: number, milliseconds: number, data: Buffer): Buffer => {
  const tag = Buffer.alloc(11 + data.length + 4);
  tag.writeUInt8(type, 0);
  tag.writeUIntBE(data.length, 1, 3);
  tag.writeUIntBE(milliseconds, 4, 3);
  data.copy(tag, 11);
  tag.writeUInt32BE(tag.length - 4, tag.length - 4);
  return tag;
};

/**
 * Key frames of 320 x 192 in VP6 with random content, 25 a second: whatever follows their header
 * decodes.
 */
export const vp6Flv = (frames: number): Buffer => {
  let state = 1;
  const tags = Array.from({ length: frames }, (_, number) => {
    // The finest quantizer, version 6 in its simple profile, the offset of a second part, then 16 x
    // 16 blocks stored and shown.
    const header = [63 << 1, 6 << 3, 0, 0, 12, 20, 12, 20, 0, 0];
    const frame = Buffer.alloc(16_000);
    for (let at = 0; at < frame.length; at++) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      frame[at] = state >> 16;
    }
    Buffer.from(header).copy(frame);
    frame.writeUInt16BE(4000, 2);
    // A key frame of codec 4, and nothing to crop.
    return flvTag(9, number * 40, Buffer.concat([Buffer.from([0x14, 0]), frame]));
  });
  return Buffer.concat([Buffer.from([0x46, 0x4c, 0x56, 1, 1, 0, 0, 0, 9, 0, 0, 0, 0]), ...tags]);
};

const check = (code: number, operation: string): number => {
  FFmpegError.throwIfError(code, operation);
  return code;
};

/** Writes a 3GP file with the video of another file and AMR audio. */
export const writeAmr3gp = (videoPath: string, kind: AmrKind, seconds: number, path: string): void => {
  const input = new FormatContext();
  const output = new FormatContext();
  const packet = new Packet();
  packet.alloc();
  check(input.openInputSync(videoPath), 'open');
  check(input.findStreamInfoSync(), 'find streams');
  check(output.allocOutputContext2(null, '3gp', path), 'muxer');
  const source = input.streams[0]!;
  const video = output.newStream(null);
  source.codecpar.copy(video.codecpar);
  video.codecpar.codecTag = 0;
  const audio = output.newStream(null);
  const { codecId, sampleRate } = AMR[kind];
  Object.assign(audio.codecpar, { codecType: AVMEDIA_TYPE_AUDIO, codecId, sampleRate });
  audio.codecpar.channelLayout = avChannelLayoutDefault(1);
  audio.codecpar.frameSize = sampleRate / AMR_FRAMES_PER_SECOND;
  audio.timeBase = { num: 1, den: sampleRate } as typeof audio.timeBase;
  check(output.openOutputSync(), 'open output');
  check(output.writeHeaderSync(), 'header');
  while (input.readFrameSync(packet) >= 0) {
    if (packet.streamIndex === 0) {
      packet.rescaleTs(source.timeBase, video.timeBase);
      check(output.interleavedWriteFrameSync(packet), 'write video');
    }
    packet.unref();
  }
  for (const [number, data] of amrFrames(kind, seconds).entries()) {
    packet.data = data;
    packet.streamIndex = 1;
    packet.pts = BigInt(number * audio.codecpar.frameSize);
    packet.dts = packet.pts;
    packet.duration = BigInt(audio.codecpar.frameSize);
    check(output.interleavedWriteFrameSync(packet), 'write audio');
    packet.unref();
  }
  output.writeTrailerSync();
  output.closeOutputSync();
  output.freeContext();
  input.closeInputSync();
  packet.free();
};

/** Writes an MP4 with the video of another file twice, and a PNG file as its cover. */
export const writeTwoVideos = (videoPath: string, cover: Buffer, path: string): void => {
  const input = new FormatContext();
  const output = new FormatContext();
  const packet = new Packet();
  packet.alloc();
  check(input.openInputSync(videoPath), 'open');
  check(input.findStreamInfoSync(), 'find streams');
  check(output.allocOutputContext2(null, 'mp4', path), 'muxer');
  const source = input.streams[0]!;
  const videos = [0, 1].map(() => {
    const video = output.newStream(null);
    source.codecpar.copy(video.codecpar);
    return video;
  });
  const coverStream = output.newStream(null);
  Object.assign(coverStream.codecpar, {
    codecType: AVMEDIA_TYPE_VIDEO,
    codecId: AV_CODEC_ID_PNG,
    width: 320,
    height: 180,
  });
  coverStream.disposition = AV_DISPOSITION_ATTACHED_PIC;
  check(output.openOutputSync(), 'open output');
  check(output.writeHeaderSync(), 'header');
  packet.data = cover;
  packet.streamIndex = coverStream.index;
  check(output.interleavedWriteFrameSync(packet), 'write cover');
  packet.unref();
  while (input.readFrameSync(packet) >= 0) {
    for (const video of packet.streamIndex === 0 ? videos : []) {
      const copy = packet.clone()!;
      copy.rescaleTs(source.timeBase, video.timeBase);
      copy.streamIndex = video.index;
      check(output.interleavedWriteFrameSync(copy), 'write video');
      copy.free();
    }
    packet.unref();
  }
  output.writeTrailerSync();
  output.closeOutputSync();
  output.freeContext();
  input.closeInputSync();
  packet.free();
};

const renameFirst = (bytes: Buffer, name: string, to: string, from = 0): Buffer => {
  const changed = Buffer.from(bytes);
  const at = changed.indexOf(name, from, 'latin1');
  if (at < 0) throw new Error(`no ${name}`);
  changed.write(to, at, 'latin1');
  return changed;
};

/** An MP4 whose sample entry of one kind (`avc1`, `sowt`) has a name that nobody knows. */
export const withUnknownCodec = (bytes: Buffer, sampleEntry: string): Buffer =>
  // Brands at the start of the file have the same names.
  renameFirst(bytes, sampleEntry, 'zzzz', bytes.indexOf('stsd', 0, 'latin1'));

/** An MP4 whose first track has no table of key frames: every sample then counts as one. */
export const withoutSyncTable = (bytes: Buffer): Buffer => renameFirst(bytes, 'stss', 'free');

/** An AVI without its index, as a recorder leaves it that lost its power. */
export const withoutAviIndex = (bytes: Buffer): Buffer => {
  const at = bytes.lastIndexOf('idx1', undefined, 'latin1');
  if (at < 0) throw new Error('no index');
  const cut = Buffer.from(bytes.subarray(0, at));
  // `dwFlags` of the main header (AVIF_HASINDEX).
  const flags = cut.indexOf('avih', 0, 'latin1') + 8 + 12;
  cut.writeUInt32LE(cut.readUInt32LE(flags) & ~0x10, flags);
  return cut;
};

/**
 * A fragmented MP4 whose first `count` fragments of the first track do not say that they begin with
 * a key frame.
 */
export const withUnmarkedStart = (bytes: Buffer, count: number): Buffer => {
  const changed = Buffer.from(bytes);
  let at = 0;
  for (let marked = 0; marked < count; ) {
    at = changed.indexOf('trun', at, 'latin1');
    if (at < 0) throw new Error('too few fragments');
    const flags = changed.readUIntBE(at + 5, 3);
    const firstFlags = at + 12 + ((flags & 1) !== 0 ? 4 : 0);
    // `first_sample_flags` (ISO/IEC 14496-12, 8.8.8): sample_is_non_sync_sample is set.
    if ((flags & 4) !== 0) {
      changed.writeUInt32BE(0x0101_0000, firstFlags);
      marked += 1;
    }
    at += 4;
  }
  return changed;
};

/**
 * An M4A whose priming of `samples` is stated by the tag of iTunes instead of an edit list. Its
 * `moov` is the last box.
 */
export const withItunesPriming = (bytes: Buffer, samples: number): Buffer => {
  const moovAt = bytes.indexOf('moov', 0, 'latin1') - 4;
  const moov = renameFirst(bytes.subarray(moovAt), 'edts', 'free');
  const hex = (value: number): string => value.toString(16).padStart(8, '0');
  const text = Buffer.from(` 00000000 ${hex(samples)} 00000000 ${hex(0)}${hex(0)}${' 00000000'.repeat(8)}`);
  const box = (type: string, ...parts: Buffer[]): Buffer => {
    const content = Buffer.concat(parts);
    const head = Buffer.alloc(8);
    head.writeUInt32BE(content.length + 8);
    head.write(type, 4, 'latin1');
    return Buffer.concat([head, content]);
  };
  const full = (type: string, ...parts: Buffer[]): Buffer => box(type, Buffer.alloc(4), ...parts);
  const handler = full('hdlr', Buffer.alloc(4), Buffer.from('mdirappl'), Buffer.alloc(9));
  const tag = box(
    '----',
    full('mean', Buffer.from('com.apple.iTunes')),
    full('name', Buffer.from('iTunSMPB')),
    box('data', Buffer.from([0, 0, 0, 1, 0, 0, 0, 0]), text),
  );
  const tags = full('meta', handler, box('ilst', tag));
  return Buffer.concat([bytes.subarray(0, moovAt), box('moov', moov.subarray(8), box('udta', tags))]);
};

/** Writes a Matroska file with an image as its first video, marked as default like the real one. */
export const writeImageFirst = (videoPath: string, image: Buffer, path: string): void => {
  const input = new FormatContext();
  const output = new FormatContext();
  const packet = new Packet();
  packet.alloc();
  check(input.openInputSync(videoPath), 'open');
  check(input.findStreamInfoSync(), 'find streams');
  check(output.allocOutputContext2(null, 'matroska', path), 'muxer');
  const source = input.streams[0]!;
  const imageStream = output.newStream(null);
  const size = { width: 320, height: 180 };
  Object.assign(imageStream.codecpar, { codecType: AVMEDIA_TYPE_VIDEO, codecId: AV_CODEC_ID_PNG, ...size });
  const video = output.newStream(null);
  source.codecpar.copy(video.codecpar);
  imageStream.disposition = AV_DISPOSITION_DEFAULT;
  video.disposition = AV_DISPOSITION_DEFAULT;
  check(output.openOutputSync(), 'open output');
  check(output.writeHeaderSync(), 'header');
  packet.data = image;
  packet.pts = 0n;
  packet.dts = 0n;
  packet.streamIndex = imageStream.index;
  packet.flags = AV_PKT_FLAG_KEY;
  check(output.interleavedWriteFrameSync(packet), 'write image');
  packet.unref();
  while (input.readFrameSync(packet) >= 0) {
    packet.rescaleTs(source.timeBase, video.timeBase);
    packet.streamIndex = video.index;
    check(output.interleavedWriteFrameSync(packet), 'write video');
    packet.unref();
  }
  output.writeTrailerSync();
  output.closeOutputSync();
  output.freeContext();
  input.closeInputSync();
  packet.free();
};

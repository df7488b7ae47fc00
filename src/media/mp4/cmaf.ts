import assert from 'node:assert';
import type { Nclx } from '../codecs/color-names.js';
import { ascii, box, bytesOf, concat, fullBox, IDENTITY_MATRIX, u16, u32, u64, zeros } from './box-writer.js';

/**
 * Writes the boxes of CMAF init segments and fragments (ISO/IEC 14496-12, -14, -15; 23000-19): one
 * track, number 1. The base decode time is the presentation time of the first sample. Composition
 * offsets are raised to avoid negative values, and an edit list compensates. `fragment-verifier.ts`
 * reads the boxes back and shares no code with this file.
 */

export type VideoInit = VideoTrackInit & (AvcInit | OriginalInit);

interface AvcInit {
  /** AVCDecoderConfigurationRecord. */
  readonly avcc: Uint8Array;
  /** When absent, the VUI of the stream applies. */
  readonly color?: 'bt709';
}

interface OriginalInit {
  readonly codec: 'hevc' | 'av1';
  /** HEVCDecoderConfigurationRecord or AV1CodecConfigurationRecord. */
  readonly config: Uint8Array;
  readonly nclx?: Nclx;
}

interface VideoTrackInit {
  /** Ticks per second of the track. */
  readonly timescale: number;
  readonly width: number;
  readonly height: number;
  /**
   * Added to every composition offset of the segments (`VideoRendition.reorderTicks`); 0 when
   * absent.
   */
  readonly reorderTicks?: number | undefined;
}

export interface AudioInit {
  readonly sampleRate: number;
  readonly channels: number;
  readonly audioSpecificConfig: Uint8Array;
  /** Ticks per second of the track; the sample rate when absent. */
  readonly timescale?: number;
}

export interface FragmentSample {
  readonly durationTicks: number;
  /** May be negative. */
  readonly compositionOffsetTicks: number;
  readonly sizeBytes: number;
  /** The sample is a random access point. */
  readonly sync: boolean;
}

export interface Fragment {
  /** 1-based. */
  readonly sequence: number;
  /** Decode time of the first sample, a safe integer >= 0. */
  readonly baseDecodeTicks: number;
  /** Decode order. */
  readonly samples: readonly FragmentSample[];
  /** Sample bytes in decode order, split into any number of chunks. */
  readonly data: readonly Uint8Array[];
}

const TRACK_ID = 1;

const movieHeader = fullBox(
  'mvhd',
  0,
  0,
  u32(0, 0, 1000, 0, 0x10000),
  u16(0x0100),
  zeros(10),
  IDENTITY_MATRIX,
  zeros(24),
  u32(TRACK_ID + 1),
);

interface TrackParts {
  readonly timescale: number;
  readonly handler: 'vide' | 'soun';
  readonly width: number;
  readonly height: number;
  readonly mediaHeader: Uint8Array;
  readonly sampleEntry: Uint8Array;
  readonly editList?: Uint8Array;
}

const writeInit = (track: TrackParts): Uint8Array => {
  const sampleTable = box(
    'stbl',
    fullBox('stsd', 0, 0, u32(1), track.sampleEntry),
    fullBox('stts', 0, 0, u32(0)),
    fullBox('stsc', 0, 0, u32(0)),
    fullBox('stsz', 0, 0, u32(0, 0)),
    fullBox('stco', 0, 0, u32(0)),
  );
  const dataInformation = box('dinf', fullBox('dref', 0, 0, u32(1), fullBox('url ', 0, 1)));
  const media = box(
    'mdia',
    fullBox('mdhd', 0, 0, u32(0, 0, track.timescale, 0), u16(0x55c4), u16(0)), // language "und"
    fullBox('hdlr', 0, 0, u32(0), ascii(track.handler), zeros(12), ascii('Kinora'), zeros(1)),
    box('minf', track.mediaHeader, dataInformation, sampleTable),
  );
  const header = fullBox(
    'tkhd',
    0,
    7, // enabled, in movie, in preview
    u32(0, 0, TRACK_ID, 0, 0, 0, 0),
    u16(0),
    u16(0),
    u16(track.handler === 'soun' ? 0x0100 : 0),
    u16(0),
    IDENTITY_MATRIX,
    u32(track.width * 0x10000, track.height * 0x10000),
  );
  const extends_ = box('mvex', fullBox('trex', 0, 0, u32(TRACK_ID, 1, 0, 0, 0)));
  return concat([
    box('ftyp', ascii('iso6'), u32(0), ascii('iso6'), ascii('cmfc'), ascii('mp41')),
    box('moov', movieHeader, box('trak', header, ...(track.editList ? [track.editList] : []), media), extends_),
  ]);
};

export const BT709: Nclx = { primaries: 1, transfer: 1, matrix: 1, fullRange: false };

const colorBox = ({ primaries, transfer, matrix, fullRange }: Nclx): Uint8Array =>
  box('colr', ascii('nclx'), u16(primaries), u16(transfer), u16(matrix), bytesOf(fullRange ? 0x80 : 0));

/** The sample entry type, its configuration record and its colors. */
const describeCodec = (init: AvcInit | OriginalInit): [string, Uint8Array, Nclx | undefined] => {
  if ('avcc' in init) return ['avc1', box('avcC', init.avcc), init.color && BT709];
  const { codec, config, nclx } = init;
  return codec === 'hevc' ? ['hvc1', box('hvcC', config), nclx] : ['av01', box('av1C', config), nclx];
};

/**
 * The init segment of a video rendition: `avc1`, `hvc1` for an original or `av01`. Pixels are
 * square.
 */
export const writeVideoInit = (init: VideoInit): Uint8Array => {
  const { timescale, width, height, reorderTicks = 0 } = init;
  const [type, record, nclx] = describeCodec(init);
  const entry = box(
    type,
    zeros(6),
    u16(1),
    zeros(16),
    u16(width),
    u16(height),
    u32(0x480000, 0x480000, 0),
    u16(1),
    zeros(32),
    u16(24),
    u16(0xffff),
    record,
    ...(nclx ? [colorBox(nclx)] : []),
    box('pasp', u32(1, 1)),
  );
  const mediaHeader = fullBox('vmhd', 0, 1, zeros(8));
  // Duration 0: the edit extends to the end of the track.
  const edit = fullBox('elst', 0, 0, u32(1, 0, reorderTicks, 0x10000));
  return writeInit({
    timescale,
    handler: 'vide',
    width,
    height,
    mediaHeader,
    sampleEntry: entry,
    ...(reorderTicks > 0 && { editList: box('edts', edit) }),
  });
};

/**
 * A descriptor of ISO/IEC 14496-1. One length byte is enough: all descriptors written here are
 * shorter than 128 bytes.
 */
const descriptor = (tag: number, ...parts: Uint8Array[]): Uint8Array => {
  const content = concat(parts);
  assert(content.length < 128, 'descriptor too long');
  return concat([bytesOf(tag, content.length), content]);
};

/** The init segment of an audio rendition (`mp4a`). */
export const writeAudioInit = (init: AudioInit): Uint8Array => {
  const { sampleRate, channels, audioSpecificConfig: config, timescale = sampleRate } = init;
  const elementaryStream = descriptor(
    0x03,
    u16(TRACK_ID),
    bytesOf(0),
    // MPEG-4 audio, audio stream, buffer size and bit rates unknown
    descriptor(0x04, bytesOf(0x40, 0x15, 0, 0, 0), u32(0, 0), descriptor(0x05, config)),
    descriptor(0x06, bytesOf(2)),
  );
  const entry = box(
    'mp4a',
    zeros(6),
    u16(1),
    zeros(8),
    u16(channels),
    u16(16),
    zeros(4),
    u32(sampleRate * 0x10000),
    fullBox('esds', 0, 0, elementaryStream),
  );
  const mediaHeader = fullBox('smhd', 0, 0, zeros(4));
  return writeInit({ timescale, handler: 'soun', width: 0, height: 0, mediaHeader, sampleEntry: entry });
};

const SYNC_FLAGS = 0x02000000; // depends on no other sample
const NON_SYNC_FLAGS = 0x01010000; // depends on others, is not a sync sample

const trackRun = (samples: readonly FragmentSample[], dataOffset: number): Uint8Array => {
  const view = new DataView(new ArrayBuffer(8 + samples.length * 16));
  view.setUint32(0, samples.length);
  view.setInt32(4, dataOffset);
  samples.forEach((sample, index) => {
    const offset = 8 + index * 16;
    view.setUint32(offset, sample.durationTicks);
    view.setUint32(offset + 4, sample.sizeBytes);
    view.setUint32(offset + 8, sample.sync ? SYNC_FLAGS : NON_SYNC_FLAGS);
    view.setInt32(offset + 12, sample.compositionOffsetTicks);
  });
  // Version 1: signed composition offsets. Data offset, duration, size, flags, composition offset
  // are present.
  return fullBox('trun', 1, 0xf01, new Uint8Array(view.buffer));
};

/** One `styp` + `moof` + `mdat`. */
export const writeFragment = ({ sequence, baseDecodeTicks, samples, data }: Fragment): Uint8Array => {
  const dataBytes = data.reduce((sum, part) => sum + part.length, 0);
  assert(samples.length > 0, 'a fragment needs a sample');
  assert(Number.isSafeInteger(baseDecodeTicks) && baseDecodeTicks >= 0, 'base decode time out of range');
  assert.equal(
    samples.reduce((sum, sample) => sum + sample.sizeBytes, 0),
    dataBytes,
    'sample sizes must add up to the data',
  );
  const movieFragment = (dataOffset: number): Uint8Array =>
    box(
      'moof',
      fullBox('mfhd', 0, 0, u32(sequence)),
      box(
        'traf',
        fullBox('tfhd', 0, 0x020000, u32(TRACK_ID)), // default-base-is-moof
        fullBox('tfdt', 1, 0, u64(baseDecodeTicks)),
        trackRun(samples, dataOffset),
      ),
    );
  const mdatHeader = concat([u32(dataBytes + 8), ascii('mdat')]);
  const moofBytes = movieFragment(0).length;
  return concat([
    box('styp', ascii('msdh'), u32(0), ascii('msdh'), ascii('iso6'), ascii('cmfs')),
    movieFragment(moofBytes + mdatHeader.length),
    mdatHeader,
    ...data,
  ]);
};

/** Bytes that `writeFragment` adds to the samples: the boxes, and 16 bytes per sample in `trun`. */
export const fragmentOverheadBytes = (sampleCount: number): number => 124 + 16 * sampleCount;

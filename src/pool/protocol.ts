import type { ByteRange, ByteRanges } from '../lib/byte-ranges.js';
import type { StillLayout } from '../media/image/geometry.js';
import type { RateSample, SamplePosition } from '../media/plan/bitrate-scale.js';
import type { AudioPlan, EncoderSettings, OriginalStream, VideoFilters } from '../media/plan/plan.js';
import type { TimedQuality } from '../media/robots/frame-quality.js';
import type { ShotScores } from '../media/shots/scores.js';
import type { Rational, SourceFacts } from '../media/source/source-facts.js';
import type { Piece, Span } from '../media/speech/pack-windows.js';
import type { Transcript } from '../media/speech/word.js';

/**
 * What the server and a media process say to each other: types only, everything by value. Results that are bytes go to the
 * paths named in the job; the parent verifies and renames them.
 */

export interface MediaSource {
  readonly path: string;
  /** Known after the probe; restricts the demuxer to this one. */
  readonly formatName?: string;
  /** The parts of the file that are there, when these are not all: what lies elsewhere is refused, never read. */
  readonly staged?: ByteRanges;
}

export interface ProbeJob {
  readonly kind: 'probe';
  readonly source: MediaSource;
  readonly maxPixels: number;
  readonly maxStreams: number;
}

/** Writes the encoded `SourceIndex` (media/source/source-index-codec.ts) to `outPath`. */
export interface IndexJob {
  readonly kind: 'index';
  readonly source: MediaSource;
  readonly videoStreamIndex?: number;
  /** The first packet of the video is a key frame, marked or not. */
  readonly unmarkedStart?: boolean;
  readonly audioStreamIndex?: number;
  readonly outPath: string;
}

/** Decodes the first, a middle and the last second the way segments will be decoded. */
export interface SanityJob {
  readonly kind: 'sanity';
  readonly source: MediaSource;
  readonly video?: { readonly streamIndex: number };
  readonly audio?: { readonly streamIndex: number };
  readonly durationSeconds: number;
}
export interface SanityResult {
  /** Absent when all three places decode cleanly. */
  readonly problem?: string;
  /** At least one frame or 1,024 samples could be decoded somewhere. */
  readonly decodable: boolean;
}

/** Encodes up to a second from each place the way a rendition of this size would be, without a limit of its rate. */
export interface ComplexityJob {
  readonly kind: 'complexity';
  readonly source: MediaSource;
  readonly streamIndex: number;
  readonly timeBase: Rational;
  readonly places: readonly SamplePosition[];
  readonly width: number;
  readonly height: number;
  readonly frameRate: Rational;
  readonly filters: VideoFilters;
  readonly encoder: Pick<EncoderSettings, 'preset' | 'crf'>;
}
export interface ComplexityResult {
  readonly samples: readonly RateSample[];
}

/** The part of a `VideoPlan` and `VideoRendition` that one segment needs. All ticks are on the timeline. */
export interface VideoSegmentJob {
  readonly kind: 'video-segment';
  readonly source: MediaSource;
  readonly streamIndex: number;
  readonly timeBase: Rational;
  readonly originTicks: number;
  readonly startTicks: number;
  readonly endTicks: number;
  readonly lastFrameTicks: number;
  /** The segment is the last of the video. */
  readonly isLast: boolean;
  /** Negative: when the frame began that is displayed at zero. */
  readonly firstFrameTicks?: number;
  readonly seekPoint?: { readonly position: number; readonly pts: number };
  /** 1-based `mfhd` sequence number: segment number + 1. */
  readonly sequence: number;
  readonly rendition: {
    readonly kind: 'encode' | 'copy';
    readonly width: number;
    readonly height: number;
    readonly frameStep: number;
    readonly frameRate: Rational;
    readonly filters: VideoFilters;
    readonly encoder?: EncoderSettings;
    readonly reorderTicks?: number;
    /** Of an original; absent: H.264. */
    readonly codec?: OriginalStream['codec'];
  };
  /** Files of the overlays of `filters`, in their order: as `OverlayImageJob` writes them. */
  readonly overlayPaths?: readonly string[];
  /** May change the bytes of segments of damaged sources. */
  readonly threads: number;
  readonly outPath: string;
}
export interface VideoSegmentResult {
  readonly sizeBytes: number;
  readonly sampleCount: number;
  /** Source frames that were read in [start, end), before `frameStep`. */
  readonly frameCount: number;
}

/** The avcC record of an encoded rendition: a pure function of size, rate and settings, no source needed. */
export interface VideoConfigJob {
  readonly kind: 'video-config';
  readonly width: number;
  readonly height: number;
  readonly frameRate: Rational;
  readonly encoder: EncoderSettings;
}
export interface VideoConfigResult {
  /** base64 */
  readonly avcc: string;
}

/** Makes the segments [firstSegment, firstSegment + outPaths.length) of the audio rendition. */
export interface AudioChunkJob {
  readonly kind: 'audio-chunk';
  readonly source: MediaSource;
  readonly audio: Omit<AudioPlan, 'boundaries'>;
  readonly firstSegment: number;
  /** outPaths.length + 1 AAC frame numbers. */
  readonly boundaries: readonly number[];
  /** Frame number at which the track ends: silence fills what the source lacks before it. */
  readonly endFrame: number;
  readonly outPaths: readonly string[];
}
export interface AudioChunkResult {
  readonly sizesBytes: readonly number[];
}

/** EBU R128 measurement of a whole track as it is played: its part of the source, its channels, its gain, encoded. */
export interface LoudnessJob {
  readonly kind: 'loudness';
  readonly source: MediaSource;
  readonly audio: Omit<AudioPlan, 'boundaries'>;
  /** AAC frame number at which the track ends. */
  readonly endFrame: number;
}
export interface LoudnessResult {
  /** LUFS; -70 for silence. */
  readonly integrated: number;
  /** dBTP */
  readonly truePeak: number;
}

/**
 * Decodes [fromPts, untilPts) of the source once, in order, through the video filter chain at `width` x `height`, and writes
 * fragments of H.264 (CRF 16, closed GOP of about 2 s, same frame times) to `outPath`; the first chunk's file starts with
 * the init segment. Concatenated chunks are the mezzanine. Times that go back are laid end to end.
 */
export interface MezzanineJob {
  readonly kind: 'mezzanine';
  readonly source: MediaSource;
  readonly streamIndex: number;
  readonly timeBase: Rational;
  /** Stream ticks of a key frame; absent: from the start. */
  readonly fromPts?: number;
  /** Stream ticks, exclusive; absent: to the end. */
  readonly untilPts?: number;
  readonly width: number;
  readonly height: number;
  readonly frameRate: Rational;
  readonly filters: VideoFilters;
  readonly first: boolean;
  /** Sequence number of the chunk's first fragment. */
  readonly firstSequence: number;
  readonly threads: number;
  readonly outPath: string;
}
export interface MezzanineResult {
  readonly frames: number;
  readonly decodeErrors: number;
}

/**
 * Lays the recordings of an MPEG stream whose clock jumps end to end and gives packets with wrong times plausible ones, as a
 * transport stream at `outPath`.
 */
export interface ConcatenateJob {
  readonly kind: 'concatenate';
  readonly source: MediaSource;
  readonly streamIndexes: readonly number[];
  readonly outPath: string;
}
export interface ConcatenateResult {
  /** With fewer than 2, and no wrong times, nothing was written. */
  readonly recordings: number;
  /** Packets whose time was wrong. */
  readonly wrongTimes: number;
}

/** Copies the packets of streams, of one file or several, into an MP4 at `outPath` whose index comes first. Nothing is decoded. */
export interface RemuxJob {
  readonly kind: 'remux';
  readonly tracks: readonly RemuxTrack[];
  readonly outPath: string;
}
export interface RemuxTrack {
  readonly source: MediaSource;
  readonly streamIndex: number;
  /** Time of the source, seconds, that is zero in the file. */
  readonly zero: Rational;
}

/** A video with a frame counter, a clock and a beep each second, H.264 + AAC in MP4. */
export interface SampleJob {
  readonly kind: 'sample';
  readonly outPath: string;
  readonly width: number;
  readonly height: number;
  readonly seconds: number;
}

export type StillFormat = 'jpg' | 'png' | 'webp';

/** The part of a `VideoPlan` that images need. All ticks are on the timeline. */
export interface ImageSource {
  readonly source: MediaSource;
  readonly streamIndex: number;
  readonly timeBase: Rational;
  readonly originTicks: number;
  readonly lastFrameTicks: number;
  /** Negative: when the frame began that is displayed at zero. */
  readonly firstFrameTicks?: number;
  readonly filters: VideoFilters;
  /** Files of the overlays of `filters`, in their order: as `OverlayImageJob` writes them. */
  readonly overlayPaths?: readonly string[];
  readonly threads: number;
  readonly outPath: string;
}

/** A moment, and the key frame before it where the container needs help to find it. */
export interface DisplayedAt {
  readonly ticks: number;
  readonly seekPoint?: { readonly position: number; readonly pts: number };
}

/** One frame as an image file at `outPath`. */
export interface StillJob extends ImageSource, DisplayedAt {
  readonly kind: 'still';
  readonly layout: StillLayout;
  readonly format: StillFormat;
}

/** The frames displayed at `startTicks + i / framesPerSecond` as an endless animation at `outPath`. */
export interface AnimatedJob extends ImageSource {
  readonly kind: 'animated';
  readonly start: DisplayedAt;
  readonly endTicks: number;
  readonly framesPerSecond: number;
  readonly width: number;
  readonly height: number;
  readonly format: 'gif' | 'webp';
}

/** Frames of many moments on one sprite sheet at `outPath`, row by row. */
export interface StoryboardJob extends ImageSource {
  readonly kind: 'storyboard';
  /** Ascending. */
  readonly tiles: readonly (DisplayedAt & { readonly exact?: true })[];
  /** How much earlier than its moment the frame of a tile that need not be exact may be when that saves decoding. */
  readonly toleranceTicks: number;
  readonly columns: number;
  /** Of one tile. */
  readonly width: number;
  readonly height: number;
  readonly format: StillFormat;
}

/** Measures the frames of some moments on small copies. */
export interface FrameQualityJob extends Omit<ImageSource, 'outPath'> {
  readonly kind: 'frame-quality';
  /** Ascending. */
  readonly frames: readonly DisplayedAt[];
  readonly toleranceTicks: number;
  readonly width: number;
  readonly height: number;
}

export interface FrameQualityResult {
  readonly frames: readonly TimedQuality[];
}

/** Compares the frames of [startTicks, endTicks) with their neighbors. All ticks are on the timeline. */
export interface ShotScoresJob {
  readonly kind: 'shot-scores';
  readonly source: MediaSource;
  readonly streamIndex: number;
  readonly timeBase: Rational;
  readonly originTicks: number;
  readonly filters: VideoFilters;
  readonly startTicks: number;
  readonly endTicks: number;
  /** Reading begins here and ends at `untilTicks`, for frames at the ends of the part have neighbors too. */
  readonly from: DisplayedAt;
  readonly untilTicks: number;
  readonly threads: number;
}

/** The audio of a track in which speech is found or recognized. */
export interface SpeechSource {
  readonly source: MediaSource;
  readonly audio: Omit<AudioPlan, 'boundaries'>;
}

/** Finds speech in a part of a track; times are milliseconds on the timeline. */
export interface FindSpeechJob extends SpeechSource, Span {
  readonly kind: 'find-speech';
  /** The track continues after the part: speech that does so too is left to the next part. */
  readonly more: boolean;
}
export interface FindSpeechResult {
  readonly spans: readonly Span[];
  /** Where the next part begins. */
  readonly nextMs: number;
}

/** Writes the pieces of a window, with silence between them, to `outPath`: a WAV file, 16 kHz, mono, 16 bit. */
export interface SpeechAudioJob extends SpeechSource {
  readonly kind: 'speech-audio';
  readonly pieces: readonly Piece[];
  readonly lengthMs: number;
  readonly outPath: string;
}

/** Recognizes a file of `SpeechAudioJob` with a model of the Whisper family. */
export interface RecognizeSpeechJob {
  readonly kind: 'recognize-speech';
  readonly audioPath: string;
  readonly modelPath: string;
  /** A code of the model, or `auto`. */
  readonly language: string;
  /** The words as the filter writes them. */
  readonly outPath: string;
}

export interface ImageResult {
  readonly sizeBytes: number;
}

/** Decodes an overlay image and writes its pixels to `outPath`, in the form of media/overlay/file.ts. */
export interface OverlayImageJob {
  readonly kind: 'overlay-image';
  readonly source: MediaSource;
  /** Larger images are refused before they are decoded. */
  readonly maxSide: number;
  /** The stored image need not be larger than this in both directions. */
  readonly maxWidth: number;
  readonly maxHeight: number;
  readonly outPath: string;
}
export interface OverlayImageResult {
  readonly natural: { readonly width: number; readonly height: number };
  readonly stored: { readonly width: number; readonly height: number };
}

export type MediaJob =
  | ProbeJob
  | IndexJob
  | SanityJob
  | ComplexityJob
  | VideoSegmentJob
  | VideoConfigJob
  | AudioChunkJob
  | LoudnessJob
  | MezzanineJob
  | ConcatenateJob
  | RemuxJob
  | SampleJob
  | OverlayImageJob
  | StillJob
  | AnimatedJob
  | StoryboardJob
  | FrameQualityJob
  | ShotScoresJob
  | FindSpeechJob
  | SpeechAudioJob
  | RecognizeSpeechJob;

export interface MediaResults {
  probe: SourceFacts;
  index: { readonly packets: number };
  sanity: SanityResult;
  complexity: ComplexityResult;
  'video-segment': VideoSegmentResult;
  'video-config': VideoConfigResult;
  'audio-chunk': AudioChunkResult;
  loudness: LoudnessResult;
  mezzanine: MezzanineResult;
  concatenate: ConcatenateResult;
  remux: { readonly sizeBytes: number };
  sample: { readonly sizeBytes: number };
  'overlay-image': OverlayImageResult;
  still: ImageResult;
  animated: ImageResult;
  storyboard: ImageResult;
  'shot-scores': ShotScores;
  'find-speech': FindSpeechResult;
  'speech-audio': { readonly sizeBytes: number };
  'recognize-speech': Transcript;
  'frame-quality': FrameQualityResult;
}

/** Parent to child. One job at a time; a process that is no longer wanted is killed. */
export interface ToChild {
  readonly type: 'run';
  readonly id: number;
  readonly job: MediaJob;
}

/** Child to parent; `rssBytes` is the resident memory after the job. */
export type FromChild =
  | { readonly type: 'ready' }
  /** 0 to 1. */
  | { readonly type: 'progress'; readonly id: number; readonly fraction: number }
  | {
      readonly type: 'done';
      readonly id: number;
      readonly result: MediaResults[MediaJob['kind']];
      readonly rssBytes: number;
    }
  /** `clean`: FFmpeg or the input said no and the process is fit for more work. */
  | {
      readonly type: 'failed';
      readonly id: number;
      readonly message: string;
      readonly clean: boolean;
      readonly code?: 'invalid_input' | 'range_missing';
      /** With `range_missing`. */
      readonly missing?: ByteRange;
      readonly rssBytes: number;
    };

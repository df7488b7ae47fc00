import type { ByteRanges, PresentRanges } from '../lib/byte-ranges.js';
import type { CaptionChannelName } from '../media/captions/caption-decoder.js';
import type { TimedQuality } from '../media/image/frame-quality.js';
import type { StillLayout } from '../media/image/geometry.js';
import type { IndexedFragment } from '../media/mp4/segment-index.js';
import type { RateSample, SamplePosition } from '../media/plan/bitrate-scale.js';
import type { AudioPlan, EncoderSettings, OriginalStream, VideoFilters } from '../media/plan/plan.js';
import type { ShotScores } from '../media/shots/scores.js';
import type { Rational, SourceFacts } from '../media/source/source-facts.js';
import type { Piece, Span } from '../media/speech/pack-windows.js';
import type { Transcript } from '../media/speech/word.js';

/**
 * One file, because it is one protocol. The messages between the server and a media process: types
 * only, everything by value. Results that are bytes are written to the paths named in the job; the
 * parent verifies and renames them.
 */

export interface MediaSource {
  readonly path: string;
  /** Known after the probe; limits FFmpeg to this demuxer. */
  readonly formatName?: string;
  /** The stored parts of the file when it is incomplete. Reads outside them are refused. */
  readonly staged?: PresentRanges;
}

export interface ProbeJob {
  readonly kind: 'probe';
  readonly source: MediaSource;
  readonly maxPixels: number;
  readonly maxStreams: number;
  /** Only the start of the file is there: key frames are inspected where they are present. */
  readonly isPrefix?: boolean;
}

/** Writes the encoded `SourceIndex` (media/source/source-index-codec.ts) to `outPath`. */
export interface IndexJob {
  readonly kind: 'index';
  readonly source: MediaSource;
  readonly videoStreamIndex?: number;
  /** The first packet of the video is a key frame, whether it is marked or not. */
  readonly unmarkedStart?: boolean;
  readonly audioStreamIndex?: number;
  /** Only the start of the file is present, and only what it contains is indexed. */
  readonly isPrefix?: boolean;
  readonly outPath: string;
}

/** Predicts the index of a Matroska file of which only parts are stored. */
/**
 * Indexes the first video track and the first audio track of an MP4 or MOV from its sample tables,
 * before the file is probed.
 */
export interface FirstTracksJob {
  readonly kind: 'first-tracks';
  readonly source: MediaSource;
  readonly outPath: string;
}
/** The tracks that were indexed; none when the tables are not sufficient. */
export interface FirstTracks {
  readonly video?: FirstTrack;
  readonly audio?: FirstTrack;
}
export interface FirstTrack {
  readonly streamIndex: number;
  /** Ticks per second. */
  readonly timescale: number;
}
export interface PredictIndexJob extends Omit<IndexJob, 'kind' | 'videoStreamIndex' | 'isPrefix'> {
  readonly kind: 'predict-index';
  readonly videoStreamIndex: number;
  /** Whether to assume the least or the most of what is not known exactly. */
  readonly bound: 'low' | 'high';
}
export interface PredictIndexResult {
  /** Why the index can't be predicted. */
  readonly obstacle?: string;
}

/** Decodes the first, a middle and the last second in the same way as segments. */
export interface SanityJob {
  readonly kind: 'sanity';
  readonly source: MediaSource;
  /** `threads` as for segments, so that they find the file open. */
  readonly video?: { readonly streamIndex: number; readonly threads: number };
  readonly audio?: { readonly streamIndex: number };
  readonly durationSeconds: number;
}
export interface SanityResult {
  /** Absent when all three positions decode without errors. */
  readonly problem?: string;
  /** At least one frame or 1,024 samples could be decoded somewhere. */
  readonly decodable: boolean;
}

/**
 * Encodes up to a second from each position like a rendition of this size, but without a rate
 * limit.
 */
export interface ComplexityJob {
  readonly kind: 'complexity';
  readonly source: MediaSource;
  readonly streamIndex: number;
  readonly timeBase: Rational;
  readonly positions: readonly SamplePosition[];
  readonly width: number;
  readonly height: number;
  readonly frameRate: Rational;
  readonly filters: VideoFilters;
  readonly encoder: Pick<EncoderSettings, 'preset' | 'crf'>;
}
export interface ComplexityResult {
  readonly samples: readonly RateSample[];
}

/**
 * The part of a `VideoPlan` and `VideoRendition` that one segment needs. All ticks are on the
 * timeline.
 */
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
  /** Negative: when the frame that is displayed at zero began. */
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
  /**
   * The files of the overlays in `filters`, in the same order, as `OverlayImageJob` writes them.
   */
  readonly overlayPaths?: readonly string[];
  /** May change the bytes of segments of damaged sources. */
  readonly threads: number;
  readonly outPath: string;
}
export interface VideoSegmentResult {
  readonly sizeBytes: number;
  readonly sampleCount: number;
  /** The number of source frames read in [start, end), before `frameStep`. */
  readonly frameCount: number;
}

/**
 * The avcC or av1C record of an encoded rendition: a pure function of size, rate and settings that
 * needs no source.
 */
export interface VideoConfigJob {
  readonly kind: 'video-config';
  readonly width: number;
  readonly height: number;
  readonly frameRate: Rational;
  readonly encoder: EncoderSettings;
}
export interface VideoConfigResult {
  /** avcC or, for AV1, av1C record, base64. */
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
  /** The frame number at which the track ends. If the source ends earlier, the rest is silent. */
  readonly endFrame: number;
  readonly outPaths: readonly string[];
}
export interface AudioChunkResult {
  readonly sizesBytes: readonly number[];
}

/**
 * The EBU R128 measurement of a whole track as it is played: with its part of the source, its
 * channels and its gain, after encoding.
 */
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
 * Decodes [fromPts, untilPts) of the source once, in order, through the video filter chain at
 * `width` x `height`, and writes fragments of H.264 (CRF 16, closed GOP of about 2 s, same frame
 * times) to `outPath`. The mezzanine is an init segment, an index of all fragments, and the
 * fragments of all chunks. When times go back, the following frames continue at the end.
 */
export interface MezzanineJob {
  readonly kind: 'mezzanine';
  readonly source: MediaSource;
  readonly streamIndex: number;
  /** See `VideoFacts.decodeTimesOnly`; the job reads from the start. */
  readonly reorderTimes?: boolean;
  /**
   * How long the last frame of the stream is displayed, in stream ticks; by default as long as the
   * one before.
   */
  readonly lastDuration?: number;
  readonly timeBase: Rational;
  /** The stream ticks of a key frame; absent means from the start. */
  readonly fromPts?: number;
  /** In stream ticks, exclusive; absent means to the end. */
  readonly untilPts?: number;
  readonly width: number;
  readonly height: number;
  readonly frameRate: Rational;
  readonly filters: VideoFilters;
  /** Sequence number of the chunk's first fragment. */
  readonly firstSequence: number;
  readonly threads: number;
  readonly outPath: string;
}
export interface MezzanineResult {
  readonly frames: number;
  readonly decodeErrors: number;
  /** The init segment of the mezzanine in base64. */
  readonly init: string;
  /** What is in the file, in the time scale of `timeBase`. */
  readonly fragments: readonly IndexedFragment[];
}

/**
 * Writes a transport stream to `outPath` that plays the recordings of an MPEG stream whose clock
 * jumps one after the other, and replaces wrong packet times with plausible ones.
 */
export interface ConcatenateJob {
  readonly kind: 'concatenate';
  readonly source: MediaSource;
  readonly streamIndexes: readonly number[];
  readonly outPath: string;
}
export interface ConcatenateResult {
  /** If there are fewer than 2 recordings and no wrong times, nothing was written. */
  readonly recordings: number;
  /** The number of packets whose time was wrong. */
  readonly wrongTimes: number;
}

/**
 * Copies the packets of streams from one or more files into an MP4 at `outPath` with its index
 * first. Nothing is decoded.
 */
export interface RemuxJob {
  readonly kind: 'remux';
  readonly tracks: readonly RemuxTrack[];
  readonly outPath: string;
}
export interface RemuxTrack {
  readonly source: MediaSource;
  readonly streamIndex: number;
  /** The source time, in seconds, that becomes zero in the file. */
  readonly zero: Rational;
}

/**
 * Reads text streams of a file once and writes the cues of each to `outPath`, one after the other,
 * as SubRip or WebVTT.
 */
export interface EmbeddedTextJob {
  readonly kind: 'embedded-text';
  readonly source: MediaSource;
  readonly streamIndexes: readonly number[];
  /** The time in the file, in seconds, that becomes zero. */
  readonly zeroSeconds: number;
  readonly outPath: string;
}
export interface EmbeddedTextResult {
  /** For each of `streamIndexes`; 0 for a stream without cues. */
  readonly sizesBytes: readonly number[];
}

/**
 * Reads closed captions (CEA-608) of H.264 or HEVC video once and writes the cues of each
 * channel to `outPath`, one after the other, as WebVTT. Its result is that of `embedded-text`.
 */
export interface ClosedCaptionsJob {
  readonly kind: 'closed-captions';
  readonly source: MediaSource;
  readonly channels: readonly CaptionChannelName[];
  /** The time in the file, in seconds, that becomes zero. */
  readonly zeroSeconds: number;
  readonly outPath: string;
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
  /** Negative: when the frame that is displayed at zero began. */
  readonly firstFrameTicks?: number;
  readonly filters: VideoFilters;
  /**
   * The files of the overlays in `filters`, in the same order, as `OverlayImageJob` writes them.
   */
  readonly overlayPaths?: readonly string[];
  readonly threads: number;
  readonly outPath: string;
}

/** A moment, and the preceding key frame if the container needs it for seeking. */
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

/**
 * The frames displayed at `startTicks + i / framesPerSecond` as an endless animation at `outPath`.
 */
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
  /**
   * How much earlier than its moment a frame may be if that saves decoding, for tiles that need not
   * be exact.
   */
  readonly toleranceTicks: number;
  readonly columns: number;
  /** The width of one tile. */
  readonly width: number;
  readonly height: number;
  readonly format: StillFormat;
}

/** Measures the frames at some moments on small copies. */
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

/**
 * Compares the frames of [startTicks, endTicks) with their neighbors. All ticks are on the
 * timeline.
 */
export interface ShotScoresJob {
  readonly kind: 'shot-scores';
  readonly source: MediaSource;
  readonly streamIndex: number;
  readonly timeBase: Rational;
  readonly originTicks: number;
  readonly filters: VideoFilters;
  readonly startTicks: number;
  readonly endTicks: number;
  /**
   * Reading begins here and ends at `untilTicks`, because frames at the ends of the part also need
   * neighbors.
   */
  readonly from: DisplayedAt;
  readonly untilTicks: number;
  readonly threads: number;
}

/** The track in which speech is found or recognized. */
export interface SpeechSource {
  readonly source: MediaSource;
  readonly audio: Omit<AudioPlan, 'boundaries'>;
}

/** Finds speech in a part of a track; times are in milliseconds on the timeline. */
export interface FindSpeechJob extends SpeechSource, Span {
  readonly kind: 'find-speech';
  /** The track continues after the part: speech that reaches the end is left to the next part. */
  readonly more: boolean;
}
export interface FindSpeechResult {
  readonly spans: readonly Span[];
  /** Where the next part begins. */
  readonly nextMs: number;
}

/**
 * Writes the spans of a window, separated by silence, to `outPath`: a WAV file, 16 kHz, mono, 16
 * bit.
 */
export interface SpeechAudioJob extends SpeechSource {
  readonly kind: 'speech-audio';
  readonly pieces: readonly Piece[];
  readonly lengthMs: number;
  readonly outPath: string;
}

/** Recognizes the speech in a file of `SpeechAudioJob` with a model of the Whisper family. */
export interface RecognizeSpeechJob {
  readonly kind: 'recognize-speech';
  readonly audioPath: string;
  readonly modelPath: string;
  /** A language code of the model, or `auto`. */
  readonly language: string;
  /** Gets the words in the filter's format. */
  readonly outPath: string;
}

export interface ImageResult {
  readonly sizeBytes: number;
}

/**
 * Decodes an overlay image and writes its pixels to `outPath` in the format of
 * media/overlay/file.ts.
 */
export interface OverlayImageJob {
  readonly kind: 'overlay-image';
  readonly source: MediaSource;
  /** Larger images are refused before they are decoded. */
  readonly maxSide: number;
  /** The stored image need not exceed this size in either direction. */
  readonly maxWidth: number;
  readonly maxHeight: number;
  readonly outPath: string;
}
export interface OverlayImageResult {
  readonly natural: { readonly width: number; readonly height: number };
  readonly stored: { readonly width: number; readonly height: number };
}

/**
 * Encodes rungs of a live stream while it is recorded: decodes what its inputs bring once, and
 * writes a fragment per rung and part. Runs until the last input.
 */
export interface LiveEncodeJob {
  readonly kind: 'live-encode';
  readonly codec: 'avc' | 'hevc' | 'av1';
  /** avcC, hvcC or av1C record, base64. */
  readonly config: string;
  /** Ticks per second of all times. */
  readonly timescale: number;
  readonly frameRate: Rational;
  readonly filters: VideoFilters;
  /** The rungs that inputs may ask for. */
  readonly rungs: readonly LiveRung[];
  readonly threads: number;
}
export interface LiveRung {
  readonly name: string;
  readonly width: number;
  readonly height: number;
  /** Keep every n-th frame, counted from the start of the part. */
  readonly frameStep: number;
  readonly encoder: EncoderSettings;
}
export interface LiveEncodeResult {
  readonly decodedFrames: number;
}

/** The frames of a part of the recording, in the order of decoding. */
export interface LivePartInput {
  readonly segment: number;
  /** 0 begins a segment: its first frame becomes a key frame. */
  readonly part: number;
  /** Presentation times. The fragments of the part show the frames of [startTicks, endTicks). */
  readonly startTicks: number;
  readonly endTicks: number;
  /** Does not continue the input before; its first sample is a key frame. */
  readonly restarts: boolean;
  /** A file of the samples' bytes, one after the other. */
  readonly path: string;
  readonly samples: readonly LiveSample[];
  /** The rungs that are encoded. Others end with the part before. */
  readonly outputs: readonly { readonly rung: string; readonly outPath: string }[];
}
export interface LiveSample {
  readonly decodeTicks: number;
  readonly ticks: number;
  readonly sizeBytes: number;
  readonly isKey: boolean;
}

export type LiveOutput =
  /** The part was read, so its file can be removed. */
  | { readonly type: 'read'; readonly segment: number; readonly part: number; readonly decodedFrames: number }
  /** A fragment is at the path of the input; `samples` is 0 when there was no frame to show. */
  | {
      readonly type: 'part';
      readonly rung: string;
      readonly segment: number;
      readonly part: number;
      readonly samples: number;
      readonly startsWithKey: boolean;
    };

/** Makes AAC-LC, 48 kHz stereo, of Opus while it is received. Runs until the last input. */
export interface LiveAudioJob {
  readonly kind: 'live-audio';
  /** Bits per second. */
  readonly bitRate: number;
}
export interface LiveAudioInput {
  /** Packets in base64, or the number of samples that are missing. */
  readonly opus: readonly (string | number)[];
}
export interface LiveAudioOutput {
  /**
   * The next AAC frames, of 1,024 samples each, in base64. The first begins with the first sample.
   */
  readonly frames: readonly string[];
}

/** Jobs that are fed while they run. */
export interface FedJobs {
  'live-encode': { readonly job: LiveEncodeJob; readonly input: LivePartInput; readonly output: LiveOutput };
  'live-audio': { readonly job: LiveAudioJob; readonly input: LiveAudioInput; readonly output: LiveAudioOutput };
}
export type FedKind = keyof FedJobs;
export type LastInput = { readonly end: true };
export type FedInput = FedJobs[FedKind]['input'] | LastInput;
export type FedOutput = FedJobs[FedKind]['output'];

/**
 * Encodes an image that stands still as one closed GOP of H.264 without B frames, and writes it to
 * `outPath` as a fragment with 90,000 ticks per second.
 */
export interface SlateJob {
  readonly kind: 'slate';
  /** The pixels as `OverlayImageJob` writes them, scaled into the frame; absent: a plain image. */
  readonly imagePath?: string;
  readonly width: number;
  readonly height: number;
  readonly frameRate: Rational;
  readonly frames: number;
  readonly profile: 'baseline' | 'main' | 'high';
  /** The ID of SPS and PPS. */
  readonly parameterSetId: number;
  readonly outPath: string;
}
export type SlateResult = VideoConfigResult;

export type MediaJob =
  | ProbeJob
  | IndexJob
  | FirstTracksJob
  | PredictIndexJob
  | SanityJob
  | ComplexityJob
  | VideoSegmentJob
  | VideoConfigJob
  | AudioChunkJob
  | LoudnessJob
  | MezzanineJob
  | ConcatenateJob
  | RemuxJob
  | EmbeddedTextJob
  | ClosedCaptionsJob
  | SampleJob
  | OverlayImageJob
  | StillJob
  | AnimatedJob
  | StoryboardJob
  | FrameQualityJob
  | LiveEncodeJob
  | LiveAudioJob
  | SlateJob
  | ShotScoresJob
  | FindSpeechJob
  | SpeechAudioJob
  | RecognizeSpeechJob;

export interface MediaResults {
  probe: SourceFacts;
  index: { readonly packets: number };
  'first-tracks': FirstTracks;
  'predict-index': PredictIndexResult;
  sanity: SanityResult;
  complexity: ComplexityResult;
  'video-segment': VideoSegmentResult;
  'video-config': VideoConfigResult;
  'audio-chunk': AudioChunkResult;
  loudness: LoudnessResult;
  mezzanine: MezzanineResult;
  concatenate: ConcatenateResult;
  remux: { readonly sizeBytes: number };
  'embedded-text': EmbeddedTextResult;
  'closed-captions': EmbeddedTextResult;
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
  'live-encode': LiveEncodeResult;
  'live-audio': { readonly frames: number };
  slate: SlateResult;
}

/**
 * Parent to child. A process runs one job at a time; a process that is no longer needed is killed.
 */
export type ToChild =
  | { readonly type: 'run'; readonly id: number; readonly job: MediaJob }
  /** For the running job. */
  | { readonly type: 'input'; readonly id: number; readonly input: FedInput };

/** Child to parent; `rssBytes` is the resident memory after the job. */
export type FromChild =
  | { readonly type: 'ready' }
  /** 0 to 1. */
  | { readonly type: 'progress'; readonly id: number; readonly fraction: number }
  | { readonly type: 'output'; readonly id: number; readonly output: FedOutput }
  | {
      readonly type: 'done';
      readonly id: number;
      readonly result: MediaResults[MediaJob['kind']];
      readonly rssBytes: number;
    }
  /** `clean`: FFmpeg or the job refused the input, and the process can take more work. */
  | {
      readonly type: 'failed';
      readonly id: number;
      readonly message: string;
      readonly clean: boolean;
      readonly code?: 'invalid_input' | 'range_missing' | 'no_space';
      /** Present with `range_missing`. */
      readonly missing?: ByteRanges;
      readonly rssBytes: number;
    };

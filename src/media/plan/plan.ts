import type { Rational } from '../source/source-facts.js';

/**
 * Everything that determines what a viewer gets. `plan-asset.ts` derives it from facts, index and
 * asset settings. It is stored with the asset and never changed, because a later version of Kinora
 * must not move the boundaries of a published asset. All times are integers on a timeline whose
 * zero is the earliest presented sample of any stream.
 */
export interface Plan {
  readonly version: 1;
  /**
   * Length of the presentation (the longer of video and audio) in seconds. Equals the sum of the
   * segment durations.
   */
  readonly durationSeconds: number;
  /**
   * Frames and audio are read from a copy of the source in which its recordings are concatenated.
   */
  readonly concatenated?: true;
  /** For clips: the asset whose source, index and mezzanine are used. */
  readonly sourceOwner?: string;
  /**
   * The first segments of a file that is still arriving; `durationSeconds` is their length. Never
   * stored.
   */
  readonly grows?: true;
  /**
   * The target duration of the playlists is at least this: players of an upload that grew know it
   * already.
   */
  readonly leastTargetSeconds?: number;
  readonly video?: VideoPlan;
  readonly audio?: AudioPlan;
}

/** How segments read their frames. */
export interface VideoPlan {
  /** The file the frames come from; audio always comes from the source. */
  readonly access: 'source' | 'mezzanine';
  readonly formatName: string;
  readonly streamIndex: number;
  /**
   * Time base of the stream, not in lowest terms if it is coarse; a timeline tick is 1/timescale s
   * and `ticks = pts * timeBase.num - originTicks`.
   */
  readonly timeBase: Rational;
  /** = timeBase.den */
  readonly timescale: number;
  /** Source time, in ticks, that corresponds to zero on the timeline. */
  readonly originTicks: number;
  /**
   * Segment k is [boundaries[k], boundaries[k + 1]), and boundaries[0] is 0. All renditions share
   * the boundaries.
   */
  readonly boundaries: readonly number[];
  /**
   * Frames of the source in each segment, when the container counts them exactly (one packet, one
   * frame).
   */
  readonly frameCounts?: readonly number[];
  /**
   * MPEG-TS/PS: byte position and pts (stream ticks) of the key frame from which segment k can be
   * decoded.
   */
  readonly seekPoints?: readonly { readonly position: number; readonly pts: number }[];
  /**
   * Time of the last frame in timeline ticks. The frame is repeated once a second until the end of
   * the timeline.
   */
  readonly lastFrameTicks: number;
  /**
   * For a clip that begins during a long frame: the negative start time of that frame, which is
   * displayed at zero.
   */
  readonly firstFrameTicks?: number;
  /** Frames of the source that a mezzanine lacks, because they could not be decoded. */
  readonly lostFrames?: number;
  /** Average frame rate of the source. */
  readonly frameRate: Rational;
  /** Frames in the busiest second, of a source whose rate varies. */
  readonly peakFrameRate?: number;
  readonly filters: VideoFilters;
  /** Lowest rung first. */
  readonly renditions: readonly VideoRendition[];
  /**
   * The ladder in AV1, lowest rung first, for players that can decode it. Never stored: it follows
   * from the rest (`planAv1`). Absent where it must not be played.
   */
  readonly av1?: readonly VideoRendition[];
  /** The source's own HEVC or AV1, of the size of the top rung, for players that can decode it. */
  readonly original?: OriginalRendition;
  /** Name of the rung that is produced at ingest and listed first. */
  readonly startRendition: string;
  /**
   * For operators: why the top rung is or is not a copy, and whether an original in another codec
   * is offered.
   */
  readonly copyDecision: string;
}

/** What happens to a decoded frame before it is encoded; the order is fixed in `engine/`. */
export interface VideoFilters {
  readonly deinterlace: boolean;
  /** Tone-map PQ or HLG to BT.709. */
  readonly toneMap?: 'pq' | 'hlg';
  /** Color tags to set when only the container has them. */
  readonly color: {
    readonly primaries: string;
    readonly transfer: string;
    readonly matrix: string;
    readonly range: string;
  };
  readonly rotation: 0 | 90 | 180 | 270;
  readonly flipHorizontal: boolean;
  /** Burn in the mark of test assets. */
  readonly testMark: boolean;
  /** Drawn on the rotated frame in this order, later ones on top. */
  readonly overlays?: readonly OverlayPlacement[];
}

/**
 * Position of an overlay image in fractions of the frame's width and height, so that it is the same
 * in every rendition.
 */
export interface OverlayPlacement {
  /**
   * The asset that stores the image (for a clip, its source asset), and the position of its input.
   */
  readonly assetId: string;
  readonly input: number;
  /** Position of the left and top edges. Parts outside 0 to 1 are cut off. */
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** 0 to 1, on top of the image's own transparency. */
  readonly opacity: number;
  /** Size of the stored image in pixels. */
  readonly image: { readonly width: number; readonly height: number };
}

export interface VideoRendition {
  /** `240p`-style label, unique within the plan; part of child URLs. */
  readonly name: string;
  readonly kind: 'encode' | 'copy';
  /** Frame size after rotation, even, square pixels. */
  readonly width: number;
  readonly height: number;
  /** Keep every n-th frame, counted from the start of the segment (sources above 60 fps). */
  readonly frameStep: number;
  /** RFC 6381, for example `avc1.64001f`. */
  readonly codecs: string;
  /** bit/s of the video alone, an upper bound for every segment. */
  readonly bandwidth: number;
  /**
   * Added to the composition offsets of the segments so that none is negative; the edit list of the
   * init segment compensates. Absent when no frames are reordered, and in plans of earlier versions
   * without an edit list, whose offsets may be negative.
   */
  readonly reorderTicks?: number;
  /** bit/s, known for copies only. */
  readonly averageBandwidth?: number;
  /** Absent for copies. */
  readonly encoder?: EncoderSettings;
  /** Copies only: avcC record, base64, that goes into the init segment. */
  readonly avcc?: string;
}

/** A copy in a codec other than H.264. */
export interface OriginalRendition extends VideoRendition {
  readonly original: OriginalStream;
}

export const isOriginal = (rendition: VideoRendition): rendition is OriginalRendition => 'original' in rendition;

export interface OriginalStream {
  readonly codec: 'hevc' | 'av1';
  /** hvcC or av1C record, base64, that goes into the init segment. */
  readonly config: string;
  /** Absent for SDR. */
  readonly videoRange?: 'PQ' | 'HLG';
}

export interface EncoderSettings {
  /** H.264 when absent. */
  readonly codec?: 'av1';
  readonly preset: string;
  readonly crf: number;
  /**
   * bit/s over any two seconds. The limit set in the encoder is lower; that of AV1 has none, and
   * what is too large is encoded again.
   */
  readonly maxRate: number;
  /** Level times ten: 31 is 3.1. */
  readonly level: number;
  /** Frames between those that refer to earlier ones only; 2 when absent, 0 for live streams. */
  readonly bFrames?: number;
}

/** The gain for `normalize_audio`, constant for the whole track. */
export interface Gain {
  readonly gainDb: number;
  /**
   * True peak limit in dBTP, above which the audio is briefly attenuated. Absent when it is never
   * reached.
   */
  readonly peakDb?: number;
}

/** How an audio track is divided. It has AAC frames of 1024 samples; ticks are samples. */
export interface AudioPlan extends Partial<Gain> {
  readonly streamIndex: number;
  /** Present if `streamIndex` is the left channel only: the mono stream with the right one. */
  readonly rightStreamIndex?: number;
  readonly formatName: string;
  readonly mode: 'copy' | 'encode';
  readonly sourceTimeBase: Rational;
  readonly sourceSampleRate: number;
  /** Source time (ticks of `sourceTimeBase`) that corresponds to zero on the timeline. */
  readonly sourceOrigin: number;
  /** Sample rate and channels of the produced stream. */
  readonly sampleRate: 44100 | 48000;
  readonly channels: 1 | 2;
  /** Segment k holds the AAC frames [boundaries[k], boundaries[k + 1]). */
  readonly boundaries: readonly number[];
  /**
   * Segments produced by one job, so that encoder joins are rare. The last chunk may be shorter.
   */
  readonly chunkSegments: number;
  /**
   * Segments of the first job, fewer so that it needs less of the source. The same as
   * `chunkSegments` when absent.
   */
  readonly firstChunkSegments?: number;
  readonly bitRate: number;
  /** `mp4a.40.2` */
  readonly codecs: string;
  /** bit/s, an upper bound for every segment. */
  readonly bandwidth: number;
  /** AudioSpecificConfig, base64. */
  readonly audioSpecificConfig: string;
}

import type { Rational } from '../source/source-facts.js';

/**
 * Everything that decides what a viewer gets, derived from facts, index and asset settings by `plan-asset.ts`, stored with
 * the asset and never changed afterwards: a later version of Kinora must not move the boundaries of a published asset.
 * All times are integers on a timeline whose zero is the earliest presented sample of any stream.
 */
export interface Plan {
  readonly version: 1;
  /** Length of the whole presentation (the longer of video and audio), seconds; equals the sum of segment durations. */
  readonly durationSeconds: number;
  /** Frames and audio are read from the copy of the source in which its recordings are laid end to end. */
  readonly concatenated?: true;
  /** The asset under whose name source, index and mezzanine are stored, when it is another one: that of a clip. */
  readonly sourceOwner?: string;
  readonly video?: VideoPlan;
  readonly audio?: AudioPlan;
}

/** How segments read their frames. */
export interface VideoPlan {
  /** The file the frames come from; audio always comes from the source. */
  readonly access: 'source' | 'mezzanine';
  readonly formatName: string;
  readonly streamIndex: number;
  /** Time base of the stream; a timeline tick is 1/timescale s and `ticks = pts * timeBase.num - originTicks`. */
  readonly timeBase: Rational;
  /** = timeBase.den */
  readonly timescale: number;
  /** Source time, in ticks, that is zero on the timeline. */
  readonly originTicks: number;
  /** Segment k is [boundaries[k], boundaries[k + 1]); boundaries[0] is 0; shared by every rendition. */
  readonly boundaries: readonly number[];
  /** Frames of the source in each segment, when the container counts them exactly (one packet, one frame). */
  readonly frameCounts?: readonly number[];
  /** MPEG-TS/PS: byte position and pts (stream ticks) of the key frame from which segment k can be decoded. */
  readonly seekPoints?: readonly { readonly position: number; readonly pts: number }[];
  /** Timeline ticks of the last frame; it is held to the end of the timeline, repeated once a second. */
  readonly lastFrameTicks: number;
  /** Negative, of a clip that begins while a frame is displayed for long: when that one, which is displayed at zero, began. */
  readonly firstFrameTicks?: number;
  /** Average frame rate of the source. */
  readonly frameRate: Rational;
  readonly filters: VideoFilters;
  /** Lowest rung first. */
  readonly renditions: readonly VideoRendition[];
  /** The source's own HEVC or AV1, of the size of the top rung, for players that can decode it. */
  readonly original?: OriginalRendition;
  /** Name of the rung that is made at ingest and listed first. */
  readonly startRendition: string;
  /** Why the top rung is (not) a copy, and what became of an original in another codec, for operators. */
  readonly copyDecision: string;
}

/** What happens to a decoded frame before it is encoded; the order is fixed in `engine/`. */
export interface VideoFilters {
  readonly deinterlace: boolean;
  /** Tone-map PQ or HLG to BT.709. */
  readonly toneMap?: 'pq' | 'hlg';
  /** Color tags to set where only the container has them. */
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
  /** Laid over the upright frame in this order, later ones on top. */
  readonly overlays?: readonly OverlayPlacement[];
}

/** Where an overlay image goes: fractions of the frame's width and height, so that it is the same in every rendition. */
export interface OverlayPlacement {
  /** Whose stored image it is (a clip shows those of its source), and the position of its input. */
  readonly assetId: string;
  readonly input: number;
  /** Of the left and the upper edge; what lies outside of 0 to 1 is cut off. */
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** 0 to 1, on top of the image's own transparency. */
  readonly opacity: number;
  /** Pixels of the stored image. */
  readonly image: { readonly width: number; readonly height: number };
}

export interface VideoRendition {
  /** `240p`-style label, unique within the plan; part of child URLs. */
  readonly name: string;
  readonly kind: 'encode' | 'copy';
  /** Frame size after rotation, even, square pixels. */
  readonly width: number;
  readonly height: number;
  /** Keep every n-th frame counted from the segment's start (sources above 60 fps). */
  readonly frameStep: number;
  /** RFC 6381, for example `avc1.64001f`. */
  readonly codecs: string;
  /** bit/s of video alone: upper bound over any segment. */
  readonly bandwidth: number;
  /**
   * What the composition offsets of the segments are raised by, and the edit list of the init segment takes back, so that none
   * is negative. Absent where nothing is reordered, and in plans made before there was an edit list: their offsets may be
   * negative.
   */
  readonly reorderTicks?: number;
  /** bit/s, known for copies only. */
  readonly averageBandwidth?: number;
  /** Absent for copies. */
  readonly encoder?: EncoderSettings;
  /** Copies only: avcC record, base64, that goes into the init segment. */
  readonly avcc?: string;
}

/** A copy that is no H.264. */
export interface OriginalRendition extends VideoRendition {
  readonly original: OriginalStream;
}

export const isOriginal = (rendition: VideoRendition): rendition is OriginalRendition => 'original' in rendition;

export interface OriginalStream {
  readonly codec: 'hevc' | 'av1';
  /** hvcC or av1C record, base64, that goes into the init segment. */
  readonly config: string;
  /** Absent: SDR. */
  readonly videoRange?: 'PQ' | 'HLG';
}

export interface EncoderSettings {
  readonly preset: string;
  readonly crf: number;
  /** bit/s, for two seconds anywhere: the encoder's own limit lies below. */
  readonly maxRate: number;
  /** H.264 level times ten: 31 is 3.1. */
  readonly level: number;
}

/** Of `normalize_audio`: the same for the whole track. */
export interface Gain {
  readonly gainDb: number;
  /** True peak, dBTP, above which the audio is turned down for a moment; absent where it never gets there. */
  readonly peakDb?: number;
}

/** How an audio track is cut: AAC frames of 1024 samples, ticks are samples. */
export interface AudioPlan extends Partial<Gain> {
  readonly streamIndex: number;
  readonly formatName: string;
  readonly mode: 'copy' | 'encode';
  readonly sourceTimeBase: Rational;
  readonly sourceSampleRate: number;
  /** Source time (ticks of `sourceTimeBase`) that is zero on the timeline. */
  readonly sourceOrigin: number;
  /** Of the produced stream. */
  readonly sampleRate: 44100 | 48000;
  readonly channels: 1 | 2;
  /** Segment k holds the AAC frames [boundaries[k], boundaries[k + 1]). */
  readonly boundaries: readonly number[];
  /** Segments made by one job, so that encoder joins are rare; a multiple of nothing, the last chunk may be shorter. */
  readonly chunkSegments: number;
  /** Segments of the first job, of which little of the source is needed; as many as of the others when absent. */
  readonly firstChunkSegments?: number;
  readonly bitRate: number;
  /** `mp4a.40.2` */
  readonly codecs: string;
  /** bit/s, upper bound over any segment. */
  readonly bandwidth: number;
  /** AudioSpecificConfig, base64. */
  readonly audioSpecificConfig: string;
}

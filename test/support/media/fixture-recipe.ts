/** What a generated file shall hold; `fixture-media.ts` writes it. */

export interface VideoRecipe {
  /** FFmpeg encoder name. */
  readonly encoder: string;
  /** Size of the painted frame; a filter may change it. */
  readonly width: number;
  readonly height: number;
  /** Frames a second. */
  readonly rate: readonly [number, number];
  /** Applied after painting (yuv420p, square pixels); must end in the encoder's pixel format. */
  readonly filter?: string;
  readonly options?: Readonly<Record<string, string>>;
  readonly bitRate?: number;
  readonly gop?: number;
  readonly bFrames?: number;
  /**
   * Clockwise rotation that a player must apply; the frame is painted upright and rotated the other
   * way before encoding.
   */
  readonly rotation?: 90 | 180 | 270;
  readonly interlaced?: boolean;
  /** BT.2020 with this transfer function instead of BT.709; `filter` must convert the frame. */
  readonly hdr?: 'pq' | 'hlg';
  /** Unequal frame durations in milliseconds, repeated; `rate` is then nominal. */
  readonly deltasMs?: readonly number[];
  /** FourCC of the sample entry. */
  readonly tag?: string;
  readonly startSeconds?: number;
  readonly seconds?: number;
}

export interface AudioRecipe {
  readonly encoder: string;
  readonly sampleRate: number;
  readonly channels: number;
  readonly bitRate?: number;
  readonly options?: Readonly<Record<string, string>>;
  readonly startSeconds?: number;
  readonly seconds?: number;
  /** Amplitude of the sine, 0.2 unless told. */
  readonly amplitude?: number;
  /** One tone in Hz in all channels, without beeps. */
  readonly tone?: number;
  /** The clock of the audio runs this much faster than its time stamps say (0.001: 0.1 %). */
  readonly drift?: number;
  /** Leaves a hole in the audio: packets whose time is inside are dropped. */
  readonly hole?: readonly [fromSeconds: number, untilSeconds: number];
}

export interface MediaRecipe {
  /** FFmpeg muxer name. */
  readonly muxer: string;
  readonly muxerOptions?: Readonly<Record<string, string>>;
  readonly seconds: number;
  readonly video?: VideoRecipe;
  readonly audio?: AudioRecipe;
  /** Number in the first frame. */
  readonly firstCounter?: number;
  /** Added to every time stamp. */
  readonly offsetSeconds?: number;
}

/** What probing found in a source; stored with the asset, the input of every later decision. */

/** Exact fraction; `den` > 0. */
export interface Rational {
  readonly num: number;
  readonly den: number;
}

export interface SourceFacts {
  /** Demuxer name as FFmpeg writes it, for example `mov,mp4,m4a,3gp,3g2,mj2`. */
  readonly formatName: string;
  readonly sizeBytes: number;
  /** What the container declares, in seconds; 0 when it declares nothing. */
  readonly durationSeconds: number;
  readonly video?: VideoFacts;
  /** All audio streams. The default stream comes first, or else the first stream of the file. */
  readonly audio: readonly AudioFacts[];
  /** The subtitle streams of the file; absent when it has none. */
  readonly text?: readonly TextFacts[];
  /** In the order of their times; absent when the file has none. */
  readonly chapters?: readonly ChapterFacts[];
  /** Video and audio of the file that can't be played. */
  readonly unplayable?: readonly UnplayableStream[];
  /** Video that could be played besides `video`. Cover art is not included. */
  readonly otherVideo?: readonly UnusedStream[];
  /** Why nothing in the file can be played, as sentences for its owner. */
  readonly refusal?: readonly string[];
}

/** What a file says about a stream for people who choose between several. */
export interface StreamLabel {
  /** BCP 47 or ISO 639 code from the file's metadata. */
  readonly language?: string;
  readonly title?: string;
}

export interface TextFacts extends StreamLabel {
  readonly streamIndex: number;
  /** FFmpeg codec name: `subrip`, `ass`, `mov_text`, `webvtt`, `hdmv_pgs_subtitle` … */
  readonly codec: string;
  /** The subtitles are pictures. */
  readonly isImage: boolean;
  /** Only for what is foreign in the film: signs, other languages. */
  readonly isForced: boolean;
  /** Also describes noises and music. */
  readonly isForHearingImpaired: boolean;
}

export interface ChapterFacts {
  /** Time in the file, in seconds. */
  readonly startSeconds: number;
  /** Absent when the chapter has no title. */
  readonly title?: string;
}

export interface UnusedStream {
  readonly type: 'video' | 'audio';
  readonly streamIndex: number;
  readonly codec: string;
  readonly durationSeconds: number;
}

export interface UnplayableStream extends UnusedStream {
  /** A sentence for the owner of the file. */
  readonly reason: string;
}

export interface VideoFacts {
  readonly streamIndex: number;
  /** FFmpeg codec name: `h264`, `hevc`, `vp9`, `av1`, `prores` … */
  readonly codec: string;
  /** FFmpeg profile number, -99 when unknown. */
  readonly profile: number;
  /** Codec level as FFmpeg gives it (H.264: 40 is 4.0), -99 when unknown. */
  readonly level: number;
  /** Coded frame after clean aperture, before rotation and sample aspect. */
  readonly width: number;
  readonly height: number;
  /** Sample aspect ratio; 1/1 when the file says nothing. */
  readonly sampleAspect: Rational;
  /** Clockwise rotation a player must apply, from the display matrix. */
  readonly rotation: 0 | 90 | 180 | 270;
  /** Mirror left-right, applied after the rotation. */
  readonly flipHorizontal: boolean;
  readonly pixelFormat: string;
  readonly bitDepth: number;
  readonly timeBase: Rational;
  /** Average frame rate; 0/1 when unknown. */
  readonly frameRate: Rational;
  /**
   * From the stream's field order and from decoded frames, because the declared order can be wrong.
   */
  readonly interlaced: boolean;
  /**
   * FFmpeg names (`bt709`, `smpte2084`, `arib-std-b67`, `unknown` …), from decoded frames, else
   * from the container.
   */
  readonly color: {
    readonly primaries: string;
    readonly transfer: string;
    readonly matrix: string;
    readonly range: string;
  };
  readonly dolbyVisionProfile?: number;
  /**
   * H.264 that the container does not crop: the avcC record (Annex B extradata is converted),
   * base64.
   */
  readonly avcc?: string;
  /**
   * HEVC and AV1 that the container does not crop, if decoding can start at every examined key
   * frame: hvcC or av1C, base64.
   */
  readonly decoderConfig?: string;
  /** H.264 only: every examined key frame is an IDR picture. */
  readonly idrKeyFrames?: boolean;
  /** Other codecs: a packet is marked as a key frame but does not contain one. */
  readonly falseKeyFrames?: true;
  /**
   * Presentation times ascend in the order of decoding, but frames are displayed in another order.
   */
  readonly decodeTimesOnly?: true;
  /** The file does not state a frame rate, nor times from which it follows. */
  readonly frameRateAssumed?: true;
  /** FFmpeg can't seek in the file. */
  readonly unseekable?: true;
  /** The first packet contains a key frame but is not marked as one. */
  readonly unmarkedStart?: boolean;
  /**
   * MPEG-1 and MPEG-2: frames before the first key frame belong to its closed GOP and can be
   * decoded.
   */
  readonly closedStart?: true;
  /** Declared stream bit rate in bit/s, 0 when unknown. */
  readonly bitRate: number;
  /** True when a decoded frame or packet side data carries CEA-608/708 captions. */
  readonly closedCaptions: boolean;
  readonly durationSeconds: number;
  /** MP4/MOV: false when the edit list does more than shift the start or trim priming. */
  readonly simpleEditList: boolean;
}

export interface AudioFacts extends StreamLabel {
  readonly streamIndex: number;
  readonly codec: string;
  readonly profile: number;
  readonly sampleRate: number;
  readonly channels: number;
  /** FFmpeg layout name: `mono`, `stereo`, `5.1` … */
  readonly channelLayout: string;
  /** `streamIndex` is the left channel only, and this stream the right one; both are mono. */
  readonly rightStreamIndex?: number;
  /** Bit depth; absent when the codec has none. */
  readonly sampleSizeBits?: number;
  readonly timeBase: Rational;
  readonly durationSeconds: number;
  readonly isDefault: boolean;
  /** AAC only: AudioSpecificConfig, base64. */
  readonly audioSpecificConfig?: string;
  readonly simpleEditList: boolean;
}

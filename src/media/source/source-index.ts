/**
 * The position of every packet of the chosen streams. Built at ingest, stored with the source and
 * read by `plan-asset.ts`. Entries are in file (decode) order. Two hours at 30 fps have 216,000
 * entries, so they are stored in typed arrays.
 */
export interface StreamIndex {
  /**
   * Presentation time in ticks of the stream's time base, as the demuxer reports it after edit
   * lists.
   */
  readonly pts: Float64Array;
  /** 1 where the packet is a random access point. */
  readonly key: Uint8Array;
  /** Packet size in bytes. */
  readonly size: Uint32Array;
  /** Byte position in the file, -1 when unknown; needed for byte seeks in MPEG-TS and MPEG-PS. */
  readonly position: Float64Array;
  /** Duration of the last packet in presentation order, in ticks; at least 1. */
  readonly lastDuration: number;
  /** The edit list hides a frame at the end that others need, so packets can't be copied. */
  readonly hidesReferences?: true;
}

export interface SourceIndex {
  readonly video?: StreamIndex;
  /** The primary audio stream. */
  readonly audio?: StreamIndex;
  /** Times go back or jump, which the container format forbids: the source needs a mezzanine. */
  readonly discontinuous: boolean;
}

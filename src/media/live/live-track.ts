/**
 * A broadcast as playlists describe it: tracks that grow by parts. Values only; `live/` owns what
 * changes them. All times of a track are ticks of its own time scale on the timeline of the asset.
 */

/** A run of frames that players can load before its segment is complete (a CMAF chunk). */
export interface LivePart {
  readonly durationTicks: number;
  /** The part starts with a key frame; always true for audio. */
  readonly independent: boolean;
  readonly sizeBytes: number;
}

export interface LiveSegment {
  /** Media sequence number. Grows by one, over all broadcasts of a live stream. */
  readonly number: number;
  readonly startTicks: number;
  /** So far, while the segment is not complete. */
  readonly durationTicks: number;
  /**
   * Wall clock of the first frame, in milliseconds since 1970. Until the next discontinuity it
   * advances as `startTicks` do, because players take both for the same clock (RFC 8216, 4.3.2.6).
   */
  readonly wallMs: number;
  /** Which init segment applies: `init-<config>.mp4`. Counted from 0 in each broadcast. */
  readonly config: number;
  /** Time or configuration do not continue those of the segment before (RFC 8216, 4.3.2.3). */
  readonly discontinuity: boolean;
  /** Players can start with it. */
  readonly independent: boolean;
  /**
   * It is not independent, but decoding can start with it: frames at its beginning may be missing,
   * because they need the segment before.
   */
  readonly open?: true;
  readonly parts: readonly LivePart[];
  readonly complete: boolean;
  /** The track has no frames in it: it has no file. */
  readonly gap?: true;
  /**
   * Of its files: viewers may know other ones with this number, from a server that was lost before
   * it could store them.
   */
  readonly version?: number;
}

export interface LiveTrackInfo {
  /** Name in URLs: `audio`, that of a rung such as `1080p`, or `text-` and the ID of a track. */
  readonly name: string;
  readonly kind: 'video' | 'audio' | 'text';
  readonly timescale: number;
  /** RFC 6381. */
  readonly codecs: string;
  /** bit/s, measured so far, an upper bound for segments. */
  readonly bandwidth: number;
  readonly width?: number;
  readonly height?: number;
  readonly frameRate?: number;
  readonly channels?: number;
}

/** One state of a track; a new object whenever something changes. */
export interface LiveTrackState {
  readonly info: LiveTrackInfo;
  /** Every segment of the broadcast in order; the last one may be incomplete or absent. */
  readonly segments: readonly LiveSegment[];
  /** No segment or part follows. */
  readonly ended: boolean;
  /** Of the segments that follow; see `LiveSegment`. */
  readonly version?: number | undefined;
}

export type LatencyMode = 'standard' | 'reduced' | 'low';

/** What stays the same for a whole broadcast, because playlists must not change it. */
export interface LiveTimes {
  readonly latencyMode: LatencyMode;
  /** Whole seconds (RFC 8216, 6.2.1). */
  readonly targetSeconds: number;
  /** Only in mode `low`. */
  readonly partTargetSeconds?: number;
}

/**
 * The first segment to decode for all frames of the segment at index `at`. It has the same
 * configuration, because every configuration begins with a key frame and a discontinuity.
 */
export const decodingStart = (segments: readonly LiveSegment[], at: number): number => {
  const last = segments[at];
  let first = last?.open && !last.discontinuity && at > 0 ? at - 1 : at;
  for (let segment = segments[first]; first > 0 && segment; segment = segments[first]) {
    if (segment.independent || segment.open) break;
    first -= 1;
  }
  return first;
};

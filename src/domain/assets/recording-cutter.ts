/** A broadcast and its asset. */
export interface BroadcastRef {
  readonly liveStreamId: string;
  readonly assetId: string;
}

/** What a clip shows of a broadcast, in seconds on the timeline of its asset. */
export interface RecordedRange extends BroadcastRef {
  /** The clip, which gets the file as its source. */
  readonly clipId: string;
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/**
 * Cuts recordings that are not finished, or ended a moment ago. Both methods resolve with undefined
 * when the broadcast is not there (any more), or players can not start yet.
 * @throws KinoraError `unavailable` while the server that has the broadcast is away
 */
export interface RecordingCutter {
  /** How much is recorded, in seconds. */
  recordedSeconds(broadcast: BroadcastRef): Promise<number | undefined>;
  /**
   * Stores the segments with this range as an MP4, the source of the clip. Resolves with the time
   * of the broadcast, in whole seconds, that is zero in the file.
   */
  copyRange(range: RecordedRange): Promise<number | undefined>;
}

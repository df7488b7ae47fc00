import type { ClosedCaptions } from '../../media/captions/caption-decoder.js';
import type { ThumbnailParameters } from '../../media/image/parameters.js';
import type { LiveTimes, LiveTrackState } from '../../media/live/live-track.js';
import type { Size } from '../../media/plan/ladder.js';
import type { StillFormat } from '../../pool/protocol.js';

/** A frame as an image file. */
export interface LiveStill {
  readonly bytes: Uint8Array;
  /** The same request will always get this frame: it asked for a time that is over. */
  readonly isFinal: boolean;
}

/** Frames of a broadcast as images. */
export interface LiveStills {
  /** Of frames as they are displayed. */
  readonly size: Size;
  /**
   * The frame at `timeSeconds` of the broadcast, or the newest one, which may be some seconds old.
   * @throws KinoraError `media_failed`, `media_crashed`, `unavailable`
   */
  get(parameters: ThumbnailParameters, format: StillFormat): Promise<LiveStill>;
}

/** Text that is recognized in what is on air. */
export interface LiveSubtitles {
  readonly trackId: string;
  readonly name: string;
  readonly languageCode: string;
}

/**
 * A broadcast as viewers read it, from its first playable segment until the asset is an ordinary
 * one. An interface, because the recording, rungs that are encoded and other servers provide it.
 */
export interface LiveFeed {
  readonly assetId: string;
  readonly times: LiveTimes;
  /** Discontinuities of the live stream before this broadcast (RFC 8216, 6.2.2). */
  readonly firstDiscontinuity: number;
  /** Names of the tracks, the copied video first, lower rungs next, audio last. */
  readonly trackNames: readonly string[];
  /** In all variants. They do not change. */
  readonly captions: readonly ClosedCaptions[];
  /**
   * Present when speech is recognized. Its track (see `childName`) is not one of `trackNames`, and
   * its segments are WebVTT without parts.
   */
  readonly subtitles?: LiveSubtitles | undefined;
  /** Absent when there is no video, or none that can be decoded. */
  readonly stills?: LiveStills | undefined;
  /**
   * The track as it is; the same object until it changes. Undefined when there is no such track. A
   * rung that nobody watches has no segments: only `waitFor` starts its encoder.
   */
  track(name: string): LiveTrackState | undefined;
  /**
   * Resolves when the track has the part (or the complete segment, if `part` is absent), when the
   * segment is complete without this part, when the track has ended, or after `timeoutMs`; never
   * rejects but for `signal`. True unless it timed out. Called for every playlist, so that the
   * encoder of a rung knows that it is watched.
   */
  waitFor(
    name: string,
    segment: number,
    part: number | undefined,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<boolean>;
  /** The init segment; undefined when there is none with this number. */
  init(name: string, config: number): Uint8Array | undefined;
  /** A complete segment or one of its parts; undefined when it does not exist (yet). */
  read(name: string, segment: number, part?: number): Promise<Uint8Array | undefined>;
}

/** Finds what is on air, or ended a moment ago, on this server. */
export interface LiveFeeds {
  /** By asset. */
  ofAsset(assetId: string): LiveFeed | undefined;
  /** By live stream: its current broadcast, and for a minute after its end the last one. */
  ofStream(liveStreamId: string): LiveFeed | undefined;
}

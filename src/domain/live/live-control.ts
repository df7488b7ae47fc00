import type { RecordedRange, RecordingCutter } from '../assets/recording-cutter.js';

/** Why a broadcast is ended from outside; the text is for the log and the owner of the encoder. */
export type DisconnectReason = 'disabled' | 'deleted' | 'stream key reset';

/**
 * The way from the API to the server that receives an encoder. An interface, because the domain may
 * not import `live/`. The methods that end something resolve with true once the end of the
 * broadcast is stored (`LiveStates.ended`), and at once when nothing is broadcast; this may be on
 * another server. They resolve with false when the end can't be stored soon, for example because
 * the disk is full: the server stores it as soon as it can.
 */
export interface LiveControl extends RecordingCutter {
  /**
   * Ends the recording now. The encoder may stay connected for a while, so that one that reconnects
   * by itself doesn't start another recording.
   */
  complete(liveStreamId: string): Promise<boolean>;
  /**
   * Ends the recording and closes the connection. For `stream key reset`, only the connection is
   * closed: the recording waits for its encoder, which needs the new key.
   */
  disconnect(liveStreamId: string, reason: DisconnectReason): Promise<boolean>;
}

/** For servers that receive no encoders. */
export const noLiveControl: LiveControl = {
  complete: async () => true,
  disconnect: async () => true,
  recordedSeconds: async () => undefined,
  copyRange: async () => undefined,
};

/** What servers ask each other as well. */
export interface BroadcastControl extends LiveControl {
  /**
   * Gives a broadcast up whose encoder has come to another server. Resolves with false when it
   * can't be continued there, for example because another encoder is sending here.
   */
  handOver(liveStreamId: string): Promise<boolean>;
}

/**
 * Between servers: `recordedSeconds`, `copyRange`, `handOver`, `disconnect` with a reason, else
 * `complete`. The response is what the method resolves with, in JSON; `null` for undefined.
 */
export interface LiveCall {
  readonly liveStreamId: string;
  /** Whose recorded seconds are asked for. */
  readonly recordedAssetId?: string;
  readonly copies?: RecordedRange;
  readonly reason?: DisconnectReason;
  readonly handsOver?: true;
}
export const LIVE_CALL_PATH = '/internal/live';
export const LIVE_CALL_TYPE = 'application/vnd.kinora.live';

import type { AlternateAudio } from '../media/plan/find-segment.js';
import type { PeerSegment } from '../packager/segment-peers.js';
import type { MediaPriority } from '../pool/media-pool.js';

/** The media type of messages between servers. */
export const MESSAGE_TYPE = 'application/vnd.kinora.message';
/** Where servers ask each other for segments. */
export const SEGMENT_PATH = '/internal/segment';

export interface SegmentMessage extends PeerSegment {
  readonly priority: MediaPriority;
  /** What `GENERATION` is where the message comes from. */
  readonly generation: number;
}

/**
 * The plan is in the message, so that a server needs no database to make a segment for another one.
 */
export const writeSegmentMessage = ({ asset, ...rest }: SegmentMessage): string => {
  const { id, plan, further } = asset;
  const additional = further && { video: further.video, audio: further.audio && [...further.audio] };
  return JSON.stringify({ ...rest, asset: { id, plan, further: additional } });
};

/** Reads a message whose signature is valid: its content is that of another server. */
export const readSegmentMessage = (text: string): SegmentMessage => {
  const { asset, ...rest } = JSON.parse(text);
  const audio: [string, AlternateAudio][] | undefined = asset.further?.audio;
  const further = asset.further && { ...asset.further, audio: audio && new Map(audio) };
  return { ...rest, asset: { ...asset, further } };
};

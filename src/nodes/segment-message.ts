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
  const { id, plan, additional } = asset;
  // The name that servers of the same generation know.
  const further = additional && { video: additional.video, audio: additional.audio && [...additional.audio] };
  return JSON.stringify({ ...rest, asset: { id, plan, further } });
};

/** Reads a message whose signature is valid: its content is that of another server. */
export const readSegmentMessage = (text: string): SegmentMessage => {
  const { asset, ...rest } = JSON.parse(text);
  const { further, ...playable } = asset;
  const audio: [string, AlternateAudio][] | undefined = further?.audio;
  const additional = further && { ...further, audio: audio && new Map(audio) };
  return { ...rest, asset: { ...playable, additional } };
};

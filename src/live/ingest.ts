import type { IngestProtocol } from '../domain/assets/create-asset.js';

/**
 * What an encoder sends, whatever the protocol. Times are those of the encoder: milliseconds,
 * unwrapped, so that they only jump when the encoder's own clock does.
 */
export type IngestPacket =
  | { readonly kind: 'video-config'; readonly config: VideoConfig }
  | { readonly kind: 'audio-config'; readonly config: AudioConfig }
  | VideoPacket
  | AudioPacket
  | { readonly kind: 'metadata'; readonly frameRate?: number | undefined };

/** A decoder configuration, which comes before the first frame and may change later. */
export interface VideoConfig {
  readonly codec: 'avc' | 'hevc' | 'av1';
  /** avcC, hvcC or av1C record (ISO/IEC 14496-15, 8.3.3.1; AV1-ISOBMFF, 2.3). */
  readonly record: Uint8Array;
}

export interface AudioConfig {
  readonly codec: 'aac';
  /** AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1). */
  readonly record: Uint8Array;
}

export interface VideoPacket {
  readonly kind: 'video';
  /** Decode time. */
  readonly dtsMs: number;
  /** Presentation time minus decode time; may be negative. */
  readonly compositionMs: number;
  readonly isKey: boolean;
  /** One frame as an MP4 sample (length-prefixed NAL units, or a temporal unit of AV1). */
  readonly data: Uint8Array;
}

export interface AudioPacket {
  readonly kind: 'audio';
  readonly dtsMs: number;
  /** One AAC frame without an ADTS header. */
  readonly data: Uint8Array;
}

/** Why a publisher is refused or disconnected; the text is for the owner of the encoder. */
export interface Refusal {
  readonly reason: 'unknown_key' | 'wrong_passphrase' | 'disabled' | 'in_use' | 'rate_limited' | 'unavailable';
  readonly message: string;
  /** Absent if no live stream has the key. */
  readonly liveStreamId?: string;
}

/** What a connection that identifies itself with a stream key asks for. */
export interface PublishRequest {
  readonly streamKey: string;
  readonly protocol: IngestProtocol;
  /** IP address of the encoder. */
  readonly peer: string;
  /**
   * Whether the encoder has the passphrase of the live stream; absent for protocols without one.
   * Called at most once.
   */
  readonly hasPassphrase?: (passphrase: string) => boolean;
  /** Closes the connection. */
  readonly disconnect: (reason: string) => void;
}

/** Accepts publishers. An interface, because protocols don't know what becomes of their packets. */
export interface IngestTarget {
  publish(request: PublishRequest): Promise<Publication | Refusal>;
}

/** A publisher that was accepted. `data` of packets may not be changed after the call. */
export interface Publication {
  readonly liveStreamId: string;
  /**
   * Takes the next packet, in the order of arrival. Never waits: a recording that can't keep up
   * disconnects the publisher. `flvBody` is the body of the FLV tag that an RTMP encoder has sent;
   * simulcast targets get the same bytes.
   */
  write(packet: IngestPacket, flvBody?: Uint8Array): void;
  /** The connection has ended; called once. */
  end(reason: string): void;
}

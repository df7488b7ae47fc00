/** An accepted WebRTC connection (WHIP, RFC 9725). */
export interface WhipPublication {
  readonly liveStreamId: string;
  /** Names the connection, for whoever ends it. */
  readonly id: string;
  /** The SDP answer. */
  readonly sdp: string;
}

/**
 * Where HTTP hands over what encoders send by WebRTC. An interface, because HTTP may not import
 * `live/`.
 */
export interface WhipIngest {
  /**
   * @param offer SDP
   * @param peer IP address of the encoder
   * @throws KinoraError `invalid_parameters`, `not_found` for an unknown key, `forbidden`,
   * `conflict` while another encoder sends, `rate_limited`, `unavailable`
   */
  publish(streamKey: string, offer: string, peer: string): Promise<WhipPublication>;
  /** False when this server has no such connection. */
  end(id: string): boolean;
}

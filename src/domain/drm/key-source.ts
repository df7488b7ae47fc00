/** What tells players of one key system about a key. */
export interface KeySystemSignal {
  readonly systemId: string;
  /** Base64 of a whole `pssh` box. */
  readonly pssh?: string;
  /** Attributes of `EXT-X-KEY`. */
  readonly keyAttributes?: string;
  /** Attributes of `EXT-X-SESSION-KEY` if they differ. */
  readonly sessionAttributes?: string;
}

export const keyTracks = ['video', 'audio'] as const;
export type KeyTrack = (typeof keyTracks)[number];

export interface ContentKey {
  readonly track: KeyTrack;
  /** 16 bytes each. */
  readonly kid: Uint8Array;
  readonly key: Uint8Array;
  readonly iv: Uint8Array;
  /** In the order of the playlists' tags. */
  readonly systems: readonly KeySystemSignal[];
}

/** Provides the keys of an asset that has none yet. */
export interface KeySource {
  /**
   * One key per track.
   * @throws KinoraError `unavailable`, `upstream_refused`
   */
  getKeys(assetId: string): Promise<readonly ContentKey[]>;
}

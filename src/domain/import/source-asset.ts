/**
 * What the import reads of an asset of another server. Fields may be absent; unknown ones are
 * ignored.
 */
export interface SourceAsset {
  readonly id: string;
  readonly status: string;
  /** Unix seconds. */
  readonly created_at: string;
  readonly duration?: number;
  readonly is_live?: boolean;
  readonly live_stream_id?: string;
  readonly ingest_type?: string;
  readonly upload_id?: string;
  readonly source_asset_id?: string;
  readonly passthrough?: string;
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly video_quality?: string;
  readonly encoding_tier?: string;
  readonly max_resolution_tier?: string;
  readonly mp4_support?: string;
  readonly master_access?: string;
  readonly master?: { readonly status: string; readonly url?: string };
  readonly normalize_audio?: boolean;
  readonly generate_shots?: boolean;
  readonly test?: boolean;
  readonly thumbnail_time?: number;
  readonly directives?: readonly unknown[];
  readonly playback_ids?: readonly SourcePlaybackId[];
  readonly tracks?: readonly SourceTrack[];
  readonly static_renditions?: { readonly files?: readonly SourceRendition[] };
  readonly errors?: { readonly messages?: readonly string[] };
}

export interface SourcePlaybackId {
  readonly id: string;
  readonly policy: string;
  readonly drm_configuration_id?: string;
}

export interface SourceTrack {
  readonly id: string;
  readonly type: string;
  readonly status?: string;
  readonly primary?: boolean;
  readonly name?: string;
  readonly language_code?: string;
  readonly text_source?: string;
  readonly closed_captions?: boolean;
  readonly passthrough?: string;
  readonly auto_language_confidence?: number;
}

export interface SourceRendition {
  readonly id?: string;
  readonly name?: string;
  readonly ext?: string;
  readonly status?: string;
  readonly resolution?: string;
  readonly passthrough?: string;
  readonly width?: number;
  readonly bitrate?: number;
}

import type { MainTrackIds, Row } from '../../db/schema.js';
import type { NewStaticRendition } from '../requests/asset-request.js';

/** An alternate audio or text track that keeps its ID. */
export interface ImportedTrack {
  readonly id: string;
  readonly type: 'audio' | 'text';
  /**
   * Where its file is now: a WebVTT or SubRip file, an audio file, or a media playlist of audio
   * segments.
   */
  readonly url: string;
  /** `url` names a media playlist. */
  readonly isPlaylist?: true;
  readonly name: string;
  readonly languageCode: string;
  readonly textSource?: Row<'track'>['text_source'];
  readonly closedCaptions?: boolean;
  readonly passthrough?: string;
  readonly languageConfidence?: number;
}

export type ImportedRendition = NewStaticRendition & { readonly id: string };

/** The settings of an asset, checked for values that this server knows. */
export type ImportedSettings = Pick<
  Row<'asset'>,
  | 'ingest_type'
  | 'video_quality'
  | 'max_resolution_tier'
  | 'mp4_support'
  | 'master_access'
  | 'normalize_audio'
  | 'generate_shots'
  | 'is_test'
  | 'passthrough'
  | 'meta'
  | 'thumbnail_time'
  | 'upload_id'
  | 'source_asset_id'
>;

/** Everything about an asset of another server that is needed to make it here. Survives JSON. */
export interface ImportOrder {
  readonly environmentId: string;
  /** The URL of the source's API. */
  readonly sourceUrl: string;
  readonly id: string;
  readonly createdAtSeconds: number;
  /** Where its main file is now. */
  readonly url: string;
  readonly playbackIds: readonly {
    readonly id: string;
    readonly policy: 'public' | 'signed' | 'drm';
    readonly drm_configuration_id?: string;
  }[];
  readonly mainTracks: MainTrackIds;
  /** Of the audio of the main file. */
  readonly mainAudio: { readonly name?: string; readonly language_code?: string };
  readonly tracks: readonly ImportedTrack[];
  readonly renditions: readonly ImportedRendition[];
  readonly settings: ImportedSettings;
}

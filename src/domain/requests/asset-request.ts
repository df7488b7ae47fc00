import type { Row } from '../../db/schema.js';
import type { Path } from '../../lib/problems.js';
import type { OverlaySettings } from '../../media/overlay/geometry.js';

export type VideoQuality = Row<'asset'>['video_quality'];

export const resolutions = [
  'highest',
  'audio-only',
  '2160p',
  '1440p',
  '1080p',
  '720p',
  '540p',
  '480p',
  '360p',
  '270p',
] as const;

export const mp4Supports = ['none', 'capped-1080p', 'audio-only', 'audio-only,capped-1080p', 'standard'] as const;
export type Mp4Support = (typeof mp4Supports)[number];

/** Languages that speech recognition supports; `auto` detects the language. */
export const GENERATED_SUBTITLE_LANGUAGES = (
  'en es it pt de fr pl ru nl ca tr sv uk no fi sk el cs hr da ro bg auto' as const
).split(' ');

/** Subtitles to generate from speech. */
export interface GeneratedSubtitles {
  readonly language_code?: string | undefined;
  readonly name?: string | undefined;
  readonly passthrough?: string | undefined;
}

/** An input of a valid request. The main input of a direct upload has no URL. */
export interface AssetInput {
  readonly url?: string | undefined;
  readonly type?: 'video' | 'audio' | 'text' | undefined;
  readonly text_type?: 'subtitles' | undefined;
  readonly language_code?: string | undefined;
  readonly name?: string | undefined;
  readonly closed_captions?: boolean | undefined;
  readonly passthrough?: string | undefined;
  /** Start and end of a clip in seconds of its source. */
  readonly start_time?: number | undefined;
  readonly end_time?: number | undefined;
  /** Whether streams of the main file become tracks. */
  readonly embedded_tracks?: boolean | undefined;
  readonly overlay_settings?: OverlaySettings | undefined;
  readonly generated_subtitles?: readonly GeneratedSubtitles[] | undefined;
}

export interface NewPlaybackId {
  readonly policy: 'public' | 'signed' | 'drm';
  /** Present when the policy is `drm`. */
  readonly drm_configuration_id?: string | undefined;
}

export interface NewStaticRendition {
  readonly resolution: (typeof resolutions)[number];
  readonly passthrough?: string | undefined;
}

/**
 * Columns of an asset that its owner sets and changes. Requests have them under the same names; a
 * column without a value is null, and an empty text removes a value.
 */
const OWNER_COLUMNS = ['passthrough', 'av1'] as const;
type OwnerColumns = Pick<Row<'asset'>, (typeof OWNER_COLUMNS)[number]>;

/** What a request says about the owner's columns, as it is stored. */
export const ownerColumns = (request: { readonly [C in keyof OwnerColumns]?: unknown }): Partial<OwnerColumns> =>
  Object.fromEntries(
    OWNER_COLUMNS.flatMap((column) => {
      const value = request[column];
      return value === undefined ? [] : [[column, value === '' ? null : value]];
    }),
  );

/**
 * Columns that are set when an asset is created; those that can be changed later have endpoints of
 * their own.
 */
const CREATION_COLUMNS = [
  'meta',
  'video_quality',
  'max_resolution_tier',
  'mp4_support',
  'master_access',
  'normalize_audio',
  'generate_shots',
  'is_test',
  'directives',
] as const;

/** What a request says about the columns of an asset. */
export type AssetSettings = Partial<OwnerColumns> & Pick<Row<'asset'>, (typeof CREATION_COLUMNS)[number]>;

/** The settings that an asset was created with, apart from later changes. */
export const settingsOf = (asset: Row<'asset'>): AssetSettings =>
  Object.fromEntries(
    [...OWNER_COLUMNS, ...CREATION_COLUMNS].map((name) => [name, asset[name]]),
  ) as unknown as AssetSettings;

/** What the owner of an asset may change; an empty text removes a value. */
export interface AssetUpdate extends Partial<OwnerColumns> {
  readonly meta?: Readonly<Record<string, string>> | undefined;
  readonly thumbnail_time?: number | undefined;
}

/** A valid request for an asset, without deprecated names and with defaults filled in. */
export interface AssetRequest {
  /** The body as the caller wrote it; messages follow its field order and names. */
  readonly body: unknown;
  /** The path of the asset settings in the body. */
  readonly base: Path;
  readonly inputsField: 'inputs' | 'input';
  /** Contains at least one input. */
  readonly inputs: readonly AssetInput[];
  /**
   * Each policy gets one playback ID, in this order, followed by those of
   * `advancedPlaybackPolicies`.
   */
  readonly playbackPolicies: readonly ('public' | 'signed')[];
  readonly advancedPlaybackPolicies: readonly NewPlaybackId[];
  readonly staticRenditions: readonly NewStaticRendition[];
  /** For a clip: whether the overlays of its source are copied to it. */
  readonly copyOverlays: boolean;
  /** What is stored in the row of the asset. */
  readonly settings: AssetSettings;
}

/** A valid request for a direct upload, with defaults filled in. */
export interface UploadRequest {
  readonly corsOrigin: string;
  readonly timeoutSeconds: number;
  readonly test: boolean;
  /** The known settings, with field names as written and lists in full. */
  readonly newAssetSettings: Readonly<Record<string, unknown>>;
  /** The asset described by the settings. */
  readonly asset: AssetRequest;
}

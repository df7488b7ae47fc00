import { type Static, type TSchema, Type } from 'typebox';
import { mp4Supports, resolutions } from '../../domain/requests/asset-request.js';
import { MAX_ENTRIES, passthrough } from './common.js';
import { Input } from './input.js';
import { NewPlaybackId } from './playback-id.js';

/** A list that may be written as a plain string if it has one entry. */
const listOrString = <T extends TSchema>(item: T, description: string, deprecated = false) =>
  Type.Union([Type.Array(item, { maxItems: MAX_ENTRIES }), Type.String()], {
    description,
    ...(deprecated && { deprecated }),
  });

const INPUTS =
  'The files to make the asset from, at most 100. The first is the main file; others add subtitles, alternate audio or overlays. A string is the URL of a single file';

const playbackPolicies = (deprecated: boolean) =>
  Type.Optional(
    listOrString(
      Type.Enum(['public', 'signed']),
      deprecated
        ? 'Deprecated: use `playback_policies`'
        : 'Creates one playback ID per entry: `public` for anyone who knows the URL, `signed` for requests with a token that you sign. Without a policy, the asset cannot be played',
      deprecated,
    ),
  );

export const renditionResolution = (words: object = {}) =>
  Type.Enum(resolutions, {
    ...words,
    description:
      'Size of the file. `highest` is the best stored resolution, `audio-only` an M4A file, and others are MP4 files that fit a frame of this height. The video is never enlarged',
  });

export const StaticRendition = Type.Object({
  resolution: renditionResolution({ 'x-when-absent': `must be one of: ${resolutions.join(', ')}` }),
  passthrough: Type.Optional(passthrough(' with the rendition')),
});

const av1 = () =>
  Type.Enum(['auto', 'always', 'never'], {
    description:
      'Whether playlists also list the ladder in AV1: `auto` once the asset is watched enough for it, as the server is configured; `always`; or `never`',
  });

const metaFields = (more = '') => ({
  title: Type.Optional(
    Type.String({ maxLength: 512, description: `Title of the video, at most 512 characters${more}` }),
  ),
  creator_id: Type.Optional(
    Type.String({ maxLength: 128, description: `Your ID of the creator of the video, at most 128 characters${more}` }),
  ),
  external_id: Type.Optional(
    Type.String({ maxLength: 128, description: `Your ID of the video, at most 128 characters${more}` }),
  ),
});
export const Meta = Type.Object(metaFields(), {
  description: 'Facts about the video for people and players. Viewers may see them',
});

/** Body of POST /video/v1/assets. */
export const CreateAssetBody = Type.Object({
  inputs: Type.Optional(listOrString(Input, INPUTS)),
  input: Type.Optional(
    Type.Union([...listOrString(Input, INPUTS).anyOf, Input], {
      description: 'Deprecated: use `inputs`, which wins if both are present',
      deprecated: true,
    }),
  ),
  playback_policies: playbackPolicies(false),
  playback_policy: playbackPolicies(true),
  advanced_playback_policies: Type.Optional(
    Type.Array(NewPlaybackId, {
      maxItems: MAX_ENTRIES,
      description:
        'Creates one playback ID per entry, after those of `playback_policies`. Required for the policy `drm`, which takes a configuration',
    }),
  ),
  passthrough: Type.Optional(passthrough(' with the asset and in its webhooks')),
  mp4_support: Type.Optional(
    Type.Enum(mp4Supports, {
      deprecated: true,
      description:
        'Deprecated: use `static_renditions`. A set of files to make for download. Cannot be combined with `static_renditions`. Defaults to `none`',
    }),
  ),
  normalize_audio: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether to bring the audio to a loudness of -24 LUFS' }),
  ),
  master_access: Type.Optional(
    Type.Enum(['none', 'temporary'], {
      default: 'none',
      description:
        '`temporary` makes one file in the best quality, which can be downloaded for 24 hours once it is ready',
    }),
  ),
  test: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Whether to make a test asset: 10 seconds long, with a watermark, and deleted after 24 hours',
    }),
  ),
  max_resolution_tier: Type.Optional(
    Type.Enum(['1080p', '1440p', '2160p'], {
      default: '1080p',
      description: 'The largest resolution to store and stream. Larger videos are scaled down',
    }),
  ),
  encoding_tier: Type.Optional(
    Type.Enum(['smart', 'baseline', 'premium'], {
      deprecated: true,
      description: 'Deprecated: use `video_quality`. `baseline` is `basic`, `smart` is `plus`, `premium` is `premium`',
    }),
  ),
  video_quality: Type.Optional(
    Type.Enum(['basic', 'plus', 'premium'], {
      description: 'How much quality and processing to spend on the video. Defaults to the setting of the environment',
    }),
  ),
  static_renditions: Type.Optional(
    Type.Array(StaticRendition, {
      maxItems: MAX_ENTRIES,
      description: 'MP4 and M4A files to make for download, one per resolution, after the asset is `ready`',
    }),
  ),
  meta: Type.Optional(Meta),
  copy_overlays: Type.Optional(
    Type.Boolean({ default: true, description: 'Whether a clip keeps the overlays of its source. Ignored for others' }),
  ),
  directives: Type.Optional(
    Type.Array(Type.Object({ id: Type.String({ description: 'ID of a directive, which starts with `drv_`' }) }), {
      maxItems: MAX_ENTRIES,
      description: 'Directives to run on the asset once it is `ready`',
    }),
  ),
  av1: Type.Optional(av1()),
  generate_shots: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether to detect the shots of the video once the asset is `ready`' }),
  ),
});
export type CreateAssetBody = Static<typeof CreateAssetBody>;

/** Body of PUT /video/v1/assets/{id}/master-access. */
export const MasterAccessBody = Type.Object({
  master_access: Type.Enum(['none', 'temporary'], {
    description:
      '`temporary` makes the file, or keeps it with its remaining time if it exists. `none` deletes it immediately',
  }),
});

/** Body of PATCH /video/v1/assets/{id}; an empty string removes the value. */
export const UpdateAssetBody = Type.Object({
  passthrough: Type.Optional(passthrough(' with the asset and in its webhooks. An empty string removes it')),
  meta: Type.Optional(
    Type.Object(metaFields('. An empty string removes it'), {
      description: 'Facts about the video. Fields that you omit keep their values',
    }),
  ),
  thumbnail_time: Type.Optional(
    Type.Number({
      description:
        'Time of the default thumbnail in seconds, from 0 to the duration of the asset. Requires a `ready` asset with video',
    }),
  ),
  av1: Type.Optional(av1()),
});

import { type Static, type TSchema, Type } from 'typebox';
import { MAX_ENTRIES, passthrough } from './common.js';
import { Input } from './input.js';
import { NewPlaybackId } from './playback-id.js';

/** A list that may be written as a plain string if it has one entry. */
const listOrString = <T extends TSchema>(item: T, description: string, deprecated = false) =>
  Type.Union([Type.Array(item, { maxItems: MAX_ENTRIES }), Type.String()], {
    description,
    ...(deprecated && { deprecated }),
  });

const INPUTS = 'The files the asset is made from';

const playbackPolicies = (deprecated: boolean) =>
  Type.Optional(listOrString(Type.Enum(['public', 'signed']), 'One playback id is made per entry', deprecated));

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

const StaticRendition = Type.Object({
  resolution: Type.Enum(resolutions, { 'x-when-absent': `must be one of: ${resolutions.join(', ')}` }),
  passthrough: Type.Optional(passthrough()),
});

export const Meta = Type.Object({
  title: Type.Optional(Type.String({ maxLength: 512 })),
  creator_id: Type.Optional(Type.String({ maxLength: 128 })),
  external_id: Type.Optional(Type.String({ maxLength: 128 })),
});

/** Body of POST /video/v1/assets. */
export const CreateAssetBody = Type.Object({
  inputs: Type.Optional(listOrString(Input, INPUTS)),
  input: Type.Optional(
    Type.Union([...listOrString(Input, INPUTS).anyOf, Input], { description: INPUTS, deprecated: true }),
  ),
  playback_policies: playbackPolicies(false),
  playback_policy: playbackPolicies(true),
  advanced_playback_policies: Type.Optional(Type.Array(NewPlaybackId, { maxItems: MAX_ENTRIES })),
  passthrough: Type.Optional(passthrough()),
  mp4_support: Type.Optional(Type.Enum(mp4Supports, { deprecated: true })),
  normalize_audio: Type.Optional(Type.Boolean({ default: false })),
  master_access: Type.Optional(Type.Enum(['none', 'temporary'], { default: 'none' })),
  test: Type.Optional(Type.Boolean({ default: false })),
  max_resolution_tier: Type.Optional(Type.Enum(['1080p', '1440p', '2160p'], { default: '1080p' })),
  encoding_tier: Type.Optional(Type.Enum(['smart', 'baseline', 'premium'], { deprecated: true })),
  video_quality: Type.Optional(Type.Enum(['basic', 'plus', 'premium'])),
  static_renditions: Type.Optional(Type.Array(StaticRendition, { maxItems: MAX_ENTRIES })),
  meta: Type.Optional(Meta),
  copy_overlays: Type.Optional(Type.Boolean({ default: true })),
  directives: Type.Optional(Type.Array(Type.Object({ id: Type.String() }), { maxItems: MAX_ENTRIES })),
  generate_shots: Type.Optional(Type.Boolean({ default: false })),
});
export type CreateAssetBody = Static<typeof CreateAssetBody>;
export type VideoQuality = NonNullable<CreateAssetBody['video_quality']>;

/** Body of PUT /video/v1/assets/{id}/master-access. */
export const MasterAccessBody = Type.Object({ master_access: Type.Enum(['none', 'temporary']) });
export type MasterAccessBody = Static<typeof MasterAccessBody>;

/** Body of PATCH /video/v1/assets/{id}; an empty string removes the value. */
export const UpdateAssetBody = Type.Object({
  passthrough: Type.Optional(passthrough()),
  meta: Type.Optional(Meta),
  thumbnail_time: Type.Optional(Type.Number({ description: 'Seconds' })),
});
export type UpdateAssetBody = Static<typeof UpdateAssetBody>;

import { type Static, Type } from 'typebox';

/** Body of POST …/playback-ids, and one entry of `advanced_playback_policies`. */
export const NewPlaybackId = Type.Object({
  policy: Type.Enum(['public', 'signed', 'drm']),
  drm_configuration_id: Type.Optional(Type.String()),
});
export type NewPlaybackId = Static<typeof NewPlaybackId>;

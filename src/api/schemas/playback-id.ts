import { Type } from 'typebox';

/** Body of POST …/playback-ids, and one entry of `advanced_playback_policies`. */
export const NewPlaybackId = Type.Object({
  policy: Type.Enum(['public', 'signed', 'drm'], {
    description:
      'Who can play the asset with this ID: `public`, anyone who knows the URL; `signed`, requests with a token that you sign; `drm`, players that also obtain a license. `drm` requires `video_quality` `plus` or `premium`',
  }),
  drm_configuration_id: Type.Optional(
    Type.String({
      description:
        'The DRM configuration that provides keys and licenses. Required for the policy `drm`, and not allowed for others',
    }),
  ),
});

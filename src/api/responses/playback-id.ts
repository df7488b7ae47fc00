import { Type } from 'typebox';
import type { PlaybackIdRecord } from '../../domain/asset-view/asset-view.js';
import { id } from '../schemas/response.js';
import { type Wire, withoutNulls } from '../wire.js';

const { Optional, Object: Fields, Enum } = Type;

export const PlaybackIdResponse = Fields(
  {
    id: id('The playback ID, which is part of playback URLs'),
    policy: Enum(['public', 'signed', 'drm'], {
      description:
        'Who can play with this ID: everyone, holders of a signed token, or players with a token and a license',
    }),
    drm_configuration_id: Optional(id('ID of the DRM configuration. Present when the policy is `drm`')),
  },
  { title: 'PlaybackId', description: 'A public identifier of an asset. Its policy decides who can play' },
);

export const serializePlaybackId = ({ id, policy, drm_configuration_id }: PlaybackIdRecord): Wire =>
  withoutNulls({ id, policy, drm_configuration_id });

export const PlaybackIdOwnerResponse = Fields(
  {
    ...PlaybackIdResponse.properties,
    object: Fields(
      {
        type: Enum(['asset'], { description: 'Kind of the owner. Always `asset`' }),
        id: id('ID of the asset that the playback ID plays'),
      },
      { description: 'The resource that the playback ID belongs to' },
    ),
  },
  { title: 'PlaybackIdOwner', description: 'A playback ID together with the asset that it plays' },
);

export const serializePlaybackIdOwner = (playbackId: PlaybackIdRecord): Wire => ({
  ...serializePlaybackId(playbackId),
  object: { type: 'asset', id: playbackId.asset_id },
});

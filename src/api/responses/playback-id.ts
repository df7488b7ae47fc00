import { Type } from 'typebox';
import type { OwnedPlaybackId, PlaybackIdRecord } from '../../domain/asset-view/asset-view.js';
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
  {
    title: 'PlaybackId',
    description: 'A public identifier of an asset or a live stream. Its policy decides who can play',
  },
);

type PlaybackIdFields = Pick<PlaybackIdRecord, 'id' | 'policy' | 'drm_configuration_id'>;

export const serializePlaybackId = ({ id, policy, drm_configuration_id }: PlaybackIdFields): Wire =>
  withoutNulls({ id, policy, drm_configuration_id });

export const PlaybackIdOwnerResponse = Fields(
  {
    ...PlaybackIdResponse.properties,
    object: Fields(
      {
        type: Enum(['asset', 'live_stream'], { description: 'Kind of the owner' }),
        id: id('ID of what the playback ID plays'),
      },
      { description: 'The resource that the playback ID belongs to' },
    ),
  },
  { title: 'PlaybackIdOwner', description: 'A playback ID together with the asset or live stream that it plays' },
);

export const serializePlaybackIdOwner = (playbackId: OwnedPlaybackId): Wire => ({
  ...serializePlaybackId(playbackId),
  object:
    playbackId.asset_id === null
      ? { type: 'live_stream', id: playbackId.live_stream_id }
      : { type: 'asset', id: playbackId.asset_id },
});

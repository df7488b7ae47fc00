import { Type } from 'typebox';
import { list, listWithCursor, one } from '../schemas/answer.js';
import { CreateAssetBody, MasterAccessBody, UpdateAssetBody } from '../schemas/asset.js';
import {
  AssetAnswer,
  InputInfoAnswer,
  PlaybackIdAnswer,
  PlaybackIdOwnerAnswer,
  ShotsAnswer,
} from '../schemas/asset-answer.js';
import { NewPlaybackId } from '../schemas/playback-id.js';
import { type Description, pagingWithCursor } from './description.js';

const assets = { tag: 'Assets' } as const;
const playbackIds = { tag: 'Playback IDs' } as const;

export const assetOperations = {
  createAsset: {
    ...assets,
    summary: 'Create an asset',
    details:
      'From the address of a file, which is fetched once. The asset is `preparing` at first; it can be played when it is `ready`.',
    body: CreateAssetBody,
    example: {
      inputs: [{ url: 'https://media.example.org/walk.mp4' }],
      playback_policies: ['public'],
      meta: { title: 'Harbour walk' },
    },
    answer: one(AssetAnswer),
  },
  listAssets: {
    ...assets,
    summary: 'List assets',
    details: 'Newest first.',
    query: {
      ...pagingWithCursor(),
      upload_id: Type.String({ description: 'Only the asset that this upload became' }),
      live_stream_id: Type.String({ description: 'There are no live streams: gives an empty list' }),
    },
    answer: listWithCursor(AssetAnswer),
  },
  getAsset: { ...assets, summary: 'Retrieve an asset', answer: one(AssetAnswer) },
  updateAsset: {
    ...assets,
    summary: 'Update an asset',
    details: 'What is not named stays; an empty text clears.',
    body: UpdateAssetBody,
    example: { passthrough: 'order-81', meta: { title: 'Harbour walk, second day' } },
    answer: one(AssetAnswer),
  },
  deleteAsset: {
    ...assets,
    summary: 'Delete an asset',
    details: 'Its playback ids stop to work at once. Clips made from it stay.',
  },
  updateMasterAccess: {
    ...assets,
    summary: 'Update master access',
    details:
      'The best version of the whole asset as one file, at an address that is good for 24 hours from the moment it is there.',
    body: MasterAccessBody,
    example: { master_access: 'temporary' },
    answer: one(AssetAnswer),
  },
  createShots: {
    ...assets,
    summary: 'Create shots',
    details: 'Where one camera position ends and the next begins, with a contact sheet of each.',
    body: 'none',
    answer: one(ShotsAnswer),
  },
  getShots: {
    ...assets,
    summary: 'Retrieve shots',
    details: 'The address of the list is good for 24 hours and renewed with each answer.',
    answer: one(ShotsAnswer),
  },
  deleteShots: { ...assets, summary: 'Delete shots' },
  deleteThumbnailTime: { ...assets, summary: 'Delete the thumbnail time' },
  getInputInfo: {
    ...assets,
    summary: 'Retrieve input info',
    details: 'One entry for each input, in the order of the request.',
    answer: list(InputInfoAnswer),
  },
  createPlaybackId: {
    ...playbackIds,
    summary: 'Create a playback ID',
    body: NewPlaybackId,
    example: { policy: 'signed' },
    answer: one(PlaybackIdAnswer),
  },
  getPlaybackId: { ...playbackIds, summary: 'Retrieve a playback ID', answer: one(PlaybackIdAnswer) },
  deletePlaybackId: { ...playbackIds, summary: 'Delete a playback ID', details: 'It stops to work at once.' },
  findPlaybackIdOwner: {
    ...playbackIds,
    summary: 'Retrieve the owner of a playback ID',
    answer: one(PlaybackIdOwnerAnswer),
  },
} as const satisfies Record<string, Description>;

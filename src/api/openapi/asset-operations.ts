import { Type } from 'typebox';
import { AssetResponse } from '../responses/asset.js';
import { InputInfoResponse } from '../responses/input-info.js';
import { PlaybackIdOwnerResponse, PlaybackIdResponse } from '../responses/playback-id.js';
import { ShotsResponse } from '../responses/shots.js';
import { CreateAssetBody, MasterAccessBody, UpdateAssetBody } from '../schemas/asset.js';
import { NewPlaybackId } from '../schemas/playback-id.js';
import { list, listWithCursor, one } from '../schemas/response.js';
import { type Description, pagingWithCursor } from './description.js';

const assets = { tag: 'Assets' } as const;
const playbackIds = { tag: 'Playback IDs' } as const;

export const assetOperations = {
  createAsset: {
    ...assets,
    summary: 'Create an asset',
    details:
      'Downloads a file and creates an asset from it. The asset is `preparing` at first and can be played when it is `ready`.',
    body: CreateAssetBody,
    example: {
      inputs: [{ url: 'https://media.example.org/walk.mp4' }],
      playback_policies: ['public'],
      meta: { title: 'Harbor walk' },
    },
    response: one(AssetResponse),
  },
  listAssets: {
    ...assets,
    summary: 'List assets',
    details: 'Newest first.',
    query: {
      ...pagingWithCursor(),
      upload_id: Type.String({ description: 'Only the asset of this upload' }),
      live_stream_id: Type.String({ description: 'Only recordings of this live stream' }),
    },
    response: listWithCursor(AssetResponse),
  },
  getAsset: {
    ...assets,
    summary: 'Retrieve an asset',
    details: 'Returns the asset with its state, tracks, playback IDs and files.',
    response: one(AssetResponse),
  },
  updateAsset: {
    ...assets,
    summary: 'Update an asset',
    details: 'Omitted fields do not change. An empty string clears a field.',
    body: UpdateAssetBody,
    example: { passthrough: 'order-81', meta: { title: 'Harbor walk, second day' } },
    response: one(AssetResponse),
  },
  deleteAsset: {
    ...assets,
    summary: 'Delete an asset',
    details: 'Its playback IDs stop working immediately. Clips of the asset remain.',
  },
  updateMasterAccess: {
    ...assets,
    summary: 'Update master access',
    details:
      'Creates one file with the whole asset in the best quality. Its URL is valid for 24 hours after the file is ready.',
    body: MasterAccessBody,
    example: { master_access: 'temporary' },
    response: one(AssetResponse),
  },
  createShots: {
    ...assets,
    summary: 'Create shots',
    details: 'Detects shot boundaries and creates a contact sheet for each shot.',
    body: 'none',
    response: one(ShotsResponse),
  },
  getShots: {
    ...assets,
    summary: 'Retrieve shots',
    details: 'The URL of the manifest is valid for 24 hours and renewed in each response.',
    response: one(ShotsResponse),
  },
  deleteShots: {
    ...assets,
    summary: 'Delete shots',
    details: 'Stops a running detection and deletes the contact sheets. Their URLs stop working.',
  },
  deleteThumbnailTime: {
    ...assets,
    summary: 'Delete the thumbnail time',
    details: 'The default thumbnail is the frame in the middle of the asset again.',
  },
  getInputInfo: {
    ...assets,
    summary: 'Retrieve input info',
    details: 'One entry per input, in the order of the request.',
    response: list(InputInfoResponse),
  },
  createPlaybackId: {
    ...playbackIds,
    summary: 'Create a playback ID',
    details: 'Adds another ID that plays the asset. It works as soon as the asset is `ready`.',
    body: NewPlaybackId,
    example: { policy: 'signed' },
    response: one(PlaybackIdResponse),
  },
  getPlaybackId: {
    ...playbackIds,
    summary: 'Retrieve a playback ID',
    details: 'Returns a playback ID of the asset with its policy.',
    response: one(PlaybackIdResponse),
  },
  deletePlaybackId: { ...playbackIds, summary: 'Delete a playback ID', details: 'It stops working immediately.' },
  findPlaybackIdOwner: {
    ...playbackIds,
    summary: 'Retrieve the owner of a playback ID',
    details: 'Finds the asset or the live stream that a playback ID belongs to.',
    response: one(PlaybackIdOwnerResponse),
  },
} as const satisfies Record<string, Description>;

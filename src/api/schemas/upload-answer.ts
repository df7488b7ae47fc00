import { Type } from 'typebox';
import { id } from './answer.js';

export const UploadAnswer = Type.Object(
  {
    id: id(),
    status: Type.Enum(['waiting', 'asset_created', 'cancelled', 'errored', 'timed_out']),
    timeout: Type.Integer({ description: 'Seconds' }),
    cors_origin: Type.String(),
    new_asset_settings: Type.Unsafe({
      type: 'object',
      description: 'The settings of the request; lists are always arrays',
    }),
    url: Type.Optional(
      Type.String({ format: 'uri', description: 'Signed URL to send the file to; while the upload is waiting' }),
    ),
    early_playback_ids: Type.Optional(
      Type.Array(Type.Object({ id: id(), policy: Type.Enum(['public', 'signed']) }), {
        description:
          'Only in Kinora: playback IDs that play what has arrived, while the upload is waiting. The asset gets the same IDs',
      }),
    ),
    asset_id: Type.Optional(id('Of the asset that the file became')),
    error: Type.Optional(Type.Object({ type: Type.String(), message: Type.String() })),
    test: Type.Optional(Type.Boolean({ description: 'Only when true' })),
  },
  { title: 'Upload' },
);

import { Type } from 'typebox';
import { id } from './response.js';

export const UploadResponse = Type.Object(
  {
    id: id('Unique ID of the upload'),
    status: Type.Enum(['waiting', 'asset_created', 'cancelled', 'errored', 'timed_out'], {
      description:
        '`waiting` until the whole file is received. Then `asset_created`, or `errored` if no asset could be created from it. `cancelled` and `timed_out` uploads accept no more data. Every state but `waiting` is final',
    }),
    timeout: Type.Integer({
      description: 'Seconds after creation within which the whole file must be received',
    }),
    cors_origin: Type.String({
      description: 'The origin of the page that may send the file with a browser. `*` stands for every page',
    }),
    new_asset_settings: Type.Unsafe({
      type: 'object',
      description:
        'The settings of the request, in the names that it used. Policies and inputs are always arrays, and defaults are not filled in',
    }),
    url: Type.Optional(
      Type.String({
        format: 'uri',
        description: 'Signed URL to send the file to, without credentials. Present while the upload is `waiting`',
      }),
    ),
    early_playback_ids: Type.Optional(
      Type.Array(
        Type.Object({
          id: id('The playback ID'),
          policy: Type.Enum(['public', 'signed'], { description: 'Who can play with this ID' }),
        }),
        {
          description:
            'Only in Kinora: playback IDs that play what has arrived, while the upload is `waiting`. The asset gets the same IDs',
        },
      ),
    ),
    asset_id: Type.Optional(id('ID of the asset that the file became. Present when an asset was created')),
    error: Type.Optional(
      Type.Object(
        {
          type: Type.String({ description: 'Kind of error, such as `invalid_parameters`' }),
          message: Type.String({ description: 'What went wrong, in a sentence' }),
        },
        { description: 'Why no asset could be created. Present when the upload is `errored`' },
      ),
    ),
    test: Type.Optional(Type.Boolean({ description: 'Whether the upload makes a test asset. Present only when true' })),
  },
  { title: 'Upload', description: 'A file that a browser or program sends directly to the server' },
);

import { type Static, Type } from 'typebox';
import { CreateAssetBody } from './asset.js';

/**
 * Body of POST /video/v1/uploads. The first input in its settings is the uploaded file and has no `url`, unless it can only
 * be an additional input.
 */
export const CreateUploadBody = Type.Object({
  cors_origin: Type.Optional(Type.String({ description: 'Origin that may send the file; any origin if absent' })),
  timeout: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 604_800,
      default: 3600,
      description: 'Seconds within which the file must be uploaded',
    }),
  ),
  test: Type.Optional(Type.Boolean({ default: false })),
  new_asset_settings: Type.Optional(CreateAssetBody),
});
export type CreateUploadBody = Static<typeof CreateUploadBody>;

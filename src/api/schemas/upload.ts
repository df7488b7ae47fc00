import { type Static, Type } from 'typebox';
import { CreateAssetBody } from './asset.js';

export const NEW_ASSET_SETTINGS = 'The asset to create from the file. Takes the same fields as "Create an asset"';

/**
 * Body of POST /video/v1/uploads. The first input in its settings is the uploaded file and has no
 * `url`, unless it can only be an additional input.
 */
export const CreateUploadBody = Type.Object({
  cors_origin: Type.Optional(
    Type.String({
      description:
        'The origin of the page that may send the file with a browser, such as `https://studio.example.org`. Any page may when absent or `*`. Other programs are not affected',
    }),
  ),
  timeout: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 604_800,
      default: 3600,
      description:
        'Seconds within which the whole file must be received, from 60 to 604,800 (7 days). After that, the upload is `timed_out`',
    }),
  ),
  test: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Whether to make a test asset: 10 seconds long, with a watermark, and deleted after 24 hours',
    }),
  ),
  new_asset_settings: Type.Optional(Type.Object(CreateAssetBody.properties, { description: NEW_ASSET_SETTINGS })),
});
export type CreateUploadBody = Static<typeof CreateUploadBody>;

import { Type } from 'typebox';
import { UploadResponse } from '../responses/upload.js';
import { CreateAssetBody } from '../schemas/asset.js';
import { Input } from '../schemas/input.js';
import { list, one } from '../schemas/response.js';
import { CreateUploadBody, NEW_ASSET_SETTINGS } from '../schemas/upload.js';
import { type Description, paging } from './description.js';

/** The first input is the uploaded file. It has no URL and can be omitted. */
const UploadBody = Type.Object({
  ...CreateUploadBody.properties,
  new_asset_settings: Type.Optional(
    Type.Object(
      {
        ...CreateAssetBody.properties,
        inputs: Type.Optional(
          Type.Array(Type.Partial(Input), {
            description:
              'The first input is the uploaded file and has no `url`; all others have one. It can be omitted if the list starts with a text track, an audio track or an overlay',
          }),
        ),
        input: Type.Optional(
          Type.Union([Type.Array(Type.Partial(Input)), Type.Partial(Input)], {
            deprecated: true,
            description: 'Deprecated: use `inputs`, which wins if both are present',
          }),
        ),
      },
      { description: NEW_ASSET_SETTINGS },
    ),
  ),
});

const uploads = { tag: 'Direct uploads' } as const;

export const uploadOperations = {
  createUpload: {
    ...uploads,
    summary: 'Create a direct upload',
    details:
      'Returns a signed `url`. Send the file there with PUT, whole or in chunks with `Content-Range`. tus 1.0 is also supported.',
    body: UploadBody,
    example: { cors_origin: 'https://studio.example.org', new_asset_settings: { playback_policies: ['public'] } },
    response: one(UploadResponse),
  },
  listUploads: {
    ...uploads,
    summary: 'List direct uploads',
    details: 'Newest first, with any status.',
    query: paging(),
    response: list(UploadResponse),
  },
  getUpload: {
    ...uploads,
    summary: 'Retrieve a direct upload',
    details: 'Returns the upload with its state and, once there is one, the ID of its asset.',
    response: one(UploadResponse),
  },
  cancelUpload: {
    ...uploads,
    summary: 'Cancel a direct upload',
    details: 'Possible while the upload is `waiting`. Received data is deleted. Otherwise the response is 403.',
    body: 'none',
    response: one(UploadResponse),
  },
} as const satisfies Record<string, Description>;

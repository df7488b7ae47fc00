import { Type } from 'typebox';
import { id } from '../schemas/response.js';

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

/** What the serializers read from a stored upload. */
export interface UploadRecord {
  readonly id: string;
  readonly status: 'waiting' | 'asset_created' | 'cancelled' | 'errored' | 'timed_out';
  readonly timeout_seconds: number;
  readonly cors_origin: string;
  readonly new_asset_settings: Readonly<Record<string, unknown>>;
  readonly is_test: boolean;
  readonly target_asset_id: string;
  readonly error: object | null;
  readonly early_playback_ids: readonly { readonly id: string; readonly policy: string }[] | null;
}

/** `url` is shown only while the upload is waiting. */
export const serializeUpload = (upload: UploadRecord, url?: string): Record<string, unknown> => ({
  id: upload.id,
  status: upload.status,
  timeout: upload.timeout_seconds,
  cors_origin: upload.cors_origin,
  new_asset_settings: withLists(upload.new_asset_settings),
  ...(upload.status === 'waiting' && url !== undefined && { url }),
  ...(upload.status === 'waiting' &&
    upload.early_playback_ids && {
      // DRM keys are only made for ready assets.
      early_playback_ids: upload.early_playback_ids.filter(({ policy }) => policy !== 'drm'),
    }),
  ...(upload.status === 'asset_created' && { asset_id: upload.target_asset_id }),
  ...(upload.error && { error: upload.error }),
  ...(upload.is_test && { test: true }),
});

const LISTS: readonly string[] = ['inputs', 'input', 'playback_policies', 'playback_policy'];

/**
 * Writes each of these fields as a list: older rows may hold a single value, which SDKs can't read.
 */
const withLists = (settings: UploadRecord['new_asset_settings']): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, LISTS.includes(name) ? [value].flat() : value]),
  );

/**
 * An upload inside an event: without its URL, which gives access, and without deprecated field
 * names.
 */
export const serializeUploadEvent = (upload: UploadRecord): Record<string, unknown> => {
  const { input, playback_policy: policies, ...settings } = withLists(upload.new_asset_settings);
  return {
    ...serializeUpload(upload),
    new_asset_settings: {
      ...(input !== undefined && { inputs: input }),
      ...(policies !== undefined && { playback_policies: policies }),
      ...settings,
    },
  };
};

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

/** Writes each of these fields as a list: older rows may hold a single value, which SDKs can't read. */
const withLists = (settings: UploadRecord['new_asset_settings']): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, LISTS.includes(name) ? [value].flat() : value]),
  );

/** An upload inside an event: without its URL, which gives access, and without deprecated field names. */
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

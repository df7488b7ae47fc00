import type { UploadRequest, VideoQuality } from '../../domain/requests/asset-request.js';
import { Problems } from '../../lib/problems.js';
import { CreateUploadBody } from '../schemas/upload.js';
import { SETTINGS, writeOutSettings } from './new-asset-settings.js';
import { requireJsonObject, validate } from './validate.js';

const DEFAULT_TIMEOUT_SECONDS = 3600;

/**
 * Checks everything in a request for a direct upload that needs no lookup.
 * @throws KinoraError `invalid_parameters` with one message per problem, in body order
 */
export const validateCreateUpload = (body: unknown, defaultVideoQuality: VideoQuality): UploadRequest => {
  const problems = new Problems();
  const rawBody = requireJsonObject(body);
  const { written, read } = writeOutSettings(rawBody, problems, defaultVideoQuality, 'direct uploads');
  const parsedBody = validate(CreateUploadBody, { ...rawBody, ...(written && { [SETTINGS]: written }) }, [], problems);
  const { asset, settings } = read(parsedBody.new_asset_settings ?? {});
  problems.throwIfAny(body);
  return {
    corsOrigin: parsedBody.cors_origin ?? '*',
    timeoutSeconds: parsedBody.timeout ?? DEFAULT_TIMEOUT_SECONDS,
    test: parsedBody.test ?? false,
    newAssetSettings: settings,
    asset,
  };
};

import type { AssetUpdate } from '../../domain/requests/asset-request.js';
import { Problems } from '../../lib/problems.js';
import { UpdateAssetBody } from '../schemas/asset.js';
import { requireJsonObject, validate } from './validate.js';

/**
 * Body of PATCH /video/v1/assets/{id}. Whether the thumbnail time is valid is checked later, when
 * the asset is known.
 * @throws KinoraError `invalid_parameters`
 */
export const validateUpdateAsset = (body: unknown): AssetUpdate => {
  const problems = new Problems();
  const update = validate(UpdateAssetBody, requireJsonObject(body), [], problems);
  problems.throwIfAny(body);
  return update;
};

import { UpdateAssetBody } from '../schemas/asset.js';
import { Problems } from './problems.js';
import { requireJsonObject, validate } from './validate.js';

/**
 * Body of PATCH /video/v1/assets/{id}; whether the asset can have the thumbnail time is judged with the asset at hand.
 * @throws KinoraError `invalid_parameters`
 */
export const validateUpdateAsset = (body: unknown): UpdateAssetBody => {
  const problems = new Problems();
  const update = validate(UpdateAssetBody, requireJsonObject(body), [], problems);
  problems.throwIfAny(body);
  return update;
};

import { Problems } from '../../lib/problems.js';
import { MasterAccessBody } from '../schemas/asset.js';
import { requireJsonObject, validate } from './validate.js';

/** Body of PUT /video/v1/assets/{id}/master-access. @throws KinoraError `invalid_parameters` */
export const validateMasterAccess = (body: unknown): 'none' | 'temporary' => {
  const problems = new Problems();
  const { master_access } = validate(MasterAccessBody, requireJsonObject(body), [], problems);
  problems.throwIfAny(body);
  return master_access;
};

import type { Static, TSchema } from 'typebox';
import type { Mp4Support, NewStaticRendition } from '../../domain/requests/asset-request.js';
import { Problems } from '../../lib/problems.js';
import { Mp4SupportBody, NewStaticRendition as NewStaticRenditionBody } from '../schemas/static-rendition.js';
import { requireJsonObject, validate } from './validate.js';

const validateBody = <T extends TSchema>(schema: T, body: unknown): Static<T> => {
  const problems = new Problems();
  const valid = validate(schema, requireJsonObject(body), [], problems);
  problems.throwIfAny(body);
  return valid;
};

/** Body of POST …/static-renditions. @throws KinoraError `invalid_parameters` */
export const validateNewStaticRendition = (body: unknown): NewStaticRendition =>
  validateBody(NewStaticRenditionBody, body);

/** Body of PUT …/mp4-support. @throws KinoraError `invalid_parameters` */
export const validateMp4Support = (body: unknown): Mp4Support => validateBody(Mp4SupportBody, body).mp4_support;

import type { Static } from 'typebox';
import type { PlaybackRestrictionRules } from '../../domain/playback/playback-restrictions.js';
import { Problems } from '../../lib/problems.js';
import { CreatePlaybackRestrictionBody, ReferrerRules, UserAgentRules } from '../schemas/playback-restriction.js';
import { requireJsonObject, validate } from './validate.js';

/** @throws KinoraError `invalid_parameters` */
export const validateCreatePlaybackRestriction = (body: unknown): PlaybackRestrictionRules => {
  const { referrer, user_agent } = read(CreatePlaybackRestrictionBody, body);
  return {
    referrer: withDefaults(referrer),
    user_agent: { allow_no_user_agent: true, allow_high_risk_user_agent: true, ...user_agent },
  };
};

/** @throws KinoraError `invalid_parameters` */
export const validateReferrerRules = (body: unknown): PlaybackRestrictionRules['referrer'] =>
  withDefaults(read(ReferrerRules, body));

/** @throws KinoraError `invalid_parameters` */
export const validateUserAgentRules = (body: unknown): PlaybackRestrictionRules['user_agent'] =>
  read(UserAgentRules, body);

const read = <T extends typeof CreatePlaybackRestrictionBody | typeof ReferrerRules | typeof UserAgentRules>(
  schema: T,
  body: unknown,
): Static<T> => {
  const problems = new Problems();
  const value = validate(schema, requireJsonObject(body), [], problems);
  problems.throwIfAny(body);
  return value;
};

const withDefaults = ({ allowed_domains, allow_no_referrer = false }: Static<typeof ReferrerRules>) => ({
  allowed_domains,
  allow_no_referrer,
});

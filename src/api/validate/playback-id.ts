import type { NewPlaybackId, VideoQuality } from '../../domain/requests/asset-request.js';
import { type Path, Problems } from '../../lib/problems.js';
import { NewPlaybackId as NewPlaybackIdBody } from '../schemas/playback-id.js';
import { requireJsonObject, validate } from './validate.js';

export const DRM_NEEDS_QUALITY = 'DRM playback requires video_quality plus or premium';

/**
 * True for a complete DRM request; a missing configuration is reported before other DRM problems.
 */
export const isDrm = (entry: NewPlaybackId): boolean =>
  entry.policy === 'drm' && entry.drm_configuration_id !== undefined;

/** Checks the rules between `policy` and `drm_configuration_id`. */
export const validateDrm = (entry: NewPlaybackId, path: Path, problems: Problems): void => {
  const at = [...path, 'drm_configuration_id'];
  const hasConfiguration = entry.drm_configuration_id !== undefined;
  if (entry.policy === 'drm' && !hasConfiguration) problems.add(at, 'is required when policy is drm');
  if ((entry.policy === 'public' || entry.policy === 'signed') && hasConfiguration) {
    problems.add(at, 'is only allowed when policy is drm');
  }
};

/**
 * Body of POST …/playback-ids for an asset of the given quality.
 * @throws KinoraError `invalid_parameters`
 */
export const validateNewPlaybackId = (body: unknown, videoQuality: VideoQuality): NewPlaybackId => {
  const problems = new Problems();
  const entry = validate(NewPlaybackIdBody, requireJsonObject(body), [], problems);
  validateDrm(entry, [], problems);
  if (isDrm(entry) && videoQuality === 'basic') problems.addSentence(['policy'], DRM_NEEDS_QUALITY);
  problems.throwIfAny(body);
  return entry;
};

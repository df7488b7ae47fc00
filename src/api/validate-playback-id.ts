import { type Path, Problems } from './problems.js';
import type { VideoQuality } from './schemas/asset.js';
import { NewPlaybackId } from './schemas/playback-id.js';
import { requireJsonObject, validate } from './validate.js';

/** The rules between `policy` and `drm_configuration_id`. */
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
  const entry = validate(NewPlaybackId, requireJsonObject(body), [], problems);
  validateDrm(entry, [], problems);
  if (entry.policy === 'drm' && videoQuality === 'basic') {
    problems.addSentence(['policy'], 'DRM playback requires video_quality plus or premium');
  }
  problems.throwIfAny(body);
  return entry;
};

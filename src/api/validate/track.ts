import type { GeneratedSubtitles } from '../../domain/requests/asset-request.js';
import { assetIdOfUrl } from '../../domain/requests/inputs.js';
import type { NewTrack } from '../../domain/tracks/create-track.js';
import type { TrackUpdate } from '../../domain/tracks/update-track.js';
import { isObject, Problems } from '../../lib/problems.js';
import { CreateTrackBody, GenerateSubtitlesBody, UpdateTrackBody } from '../schemas/track.js';
import { withoutIgnoredSettings } from './inputs.js';
import { requireJsonObject, validate } from './validate.js';

/**
 * Body of POST …/tracks. Whether the name is free is checked later, when the asset is known.
 * @throws KinoraError `invalid_parameters`
 */
export const validateCreateTrack = (body: unknown): NewTrack => {
  const problems = new Problems();
  const settings = withoutIgnoredSettings(requireJsonObject(body), 1);
  const track = validate(CreateTrackBody, settings, [], problems);
  if (typeof track.url === 'string' && assetIdOfUrl(track.url)) problems.add(['url'], 'cannot refer to an asset');
  problems.throwIfAny(body);
  return track;
};

/**
 * Body of PATCH …/tracks/{id} for a track of this type. @throws KinoraError `invalid_parameters`
 */
export const validateUpdateTrack = (body: unknown, type: 'video' | 'audio' | 'text'): TrackUpdate => {
  const problems = new Problems();
  const settings = requireJsonObject(body);
  const update = validate(UpdateTrackBody, settings, [], problems);
  if (type === 'video') problems.addSentence([], 'Only text and audio tracks can be updated');
  if (type === 'audio') {
    for (const name of ['closed_captions', 'passthrough'] as const) {
      if (update[name] !== undefined && !problems.has([name])) problems.add([name], 'can only be set on text tracks');
    }
  }
  problems.throwIfAny(body);
  return update;
};

/** Body of POST …/tracks/{id}/generate-subtitles. @throws KinoraError `invalid_parameters` */
export const validateGenerateSubtitles = (body: unknown): readonly GeneratedSubtitles[] => {
  const problems = new Problems();
  const { generated_subtitles: entries } = validate(GenerateSubtitlesBody, requireJsonObject(body), [], problems);
  const isEmpty = isObject(body) && Array.isArray(body.generated_subtitles) && body.generated_subtitles.length === 0;
  if (isEmpty) problems.add(['generated_subtitles'], 'must contain at least one entry');
  problems.throwIfAny(body);
  return entries;
};

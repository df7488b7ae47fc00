import type { Path, Problems } from '../../api/problems.js';
import type { NewPlaybackId } from '../../api/schemas/playback-id.js';

/** No key service can be configured on this server, so that no DRM configuration exists. */
export const addUnknownDrmConfiguration = (entry: NewPlaybackId, path: Path, problems: Problems): void => {
  if (entry.policy === 'drm') {
    problems.add([...path, 'drm_configuration_id'], 'does not refer to an existing DRM configuration');
  }
};

import type { Queryable } from '../../db/database.js';
import { findAsset } from '../../db/tables/assets/asset.js';
import { type BucketPath, bucketObjectOf, isUnderPath } from '../../lib/bucket-url.js';
import { isId } from '../../lib/ids.js';
import { type Path, Problems } from '../../lib/problems.js';
import type { DomainContext } from '../context.js';
import { checkDrmConfiguration } from '../drm/configurations.js';
import type { AssetRequest } from '../requests/asset-request.js';
import { addClipTooShort, assetIdOfUrl, isShorterThanAClip } from '../requests/inputs.js';
import type { RecordedSource } from './clip-source.js';

/**
 * Resources that a valid request refers to must exist and be in a suitable state. `recorded` is
 * what a clip may show of a source that is on air.
 * @throws KinoraError `invalid_parameters`
 */
export const checkReferences = async (
  { assetHook }: Pick<DomainContext, 'assetHook'>,
  db: Queryable,
  environmentId: string,
  request: AssetRequest,
  recorded?: RecordedSource,
): Promise<void> => {
  const problems = new Problems(request.base);
  await checkClipSource(db, environmentId, { request, recorded }, problems);
  for (const [index, entry] of request.advancedPlaybackPolicies.entries()) {
    await checkDrmConfiguration(db, environmentId, entry, ['advanced_playback_policies', index], problems);
  }
  const ids = request.settings.directives ?? [];
  const directiveIds = await assetHook?.findDirectives(db, environmentId, ids);
  ids.forEach((id, index) => {
    if (!directiveIds?.has(id)) problems.add(['directives', index, 'id'], 'does not refer to an existing directive');
  });
  problems.throwIfAny(request.body);
};

/**
 * @throws KinoraError `invalid_parameters` when the main input is in a bucket that inputs may not
 * name
 */
export const checkBucket = (allowedPaths: readonly BucketPath[], request: AssetRequest): void => {
  const object = bucketObjectOf(request.inputs[0]?.url ?? '');
  if (!object || allowedPaths.some((path) => isUnderPath(object, path))) return;
  const problems = new Problems(request.base);
  problems.add([request.inputsField, 0, 'url'], 'is not in a bucket that KINORA_SOURCE_BUCKETS names');
  problems.throwIfAny(request.body);
};

const checkClipSource = async (
  db: Queryable,
  environmentId: string,
  { request, recorded }: { readonly request: AssetRequest; readonly recorded: RecordedSource | undefined },
  problems: Problems,
): Promise<void> => {
  const { url, start_time: start = 0, end_time: end } = request.inputs[0]!;
  const sourceId = assetIdOfUrl(url ?? '');
  if (sourceId === undefined) return;
  const input: Path = [request.inputsField, 0];
  const source = isId(sourceId) ? await findAsset(db, environmentId, sourceId) : undefined;
  if (!source) {
    problems.add([...input, 'url'], 'does not refer to an existing asset');
    return;
  }
  const duration = recorded?.seconds ?? (source.is_live ? null : source.duration_seconds);
  if (source.status !== 'ready' || duration === null) {
    problems.add([...input, 'url'], 'refers to an asset that is not ready');
    return;
  }
  if (start >= duration) problems.add([...input, 'start_time'], 'is beyond the end of the source asset');
  else if (isShorterThanAClip(start, Math.min(end ?? duration, duration))) addClipTooShort(input, problems);
};

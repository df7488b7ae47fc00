import type { Database } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import {
  insertEnvironment,
  listEnvironments as listEnvironmentRows,
  updateEnvironment as updateEnvironmentRow,
} from '../../db/tables/server/environment.js';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import { newShortId } from '../../lib/ids.js';
import type { VideoQuality } from '../requests/asset-request.js';

export interface EnvironmentInfo {
  readonly id: string;
  readonly name: string;
  readonly type: 'development' | 'production';
  /** The quality of an asset whose request has no `video_quality`. */
  readonly videoQuality: VideoQuality;
  readonly createdAt: Date;
}

/**
 * The default of `videoQuality` is `basic`.
 * @throws KinoraError `invalid_parameters` when the name is taken
 */
export const createEnvironment = async (
  database: Database,
  { name, type, videoQuality }: Pick<EnvironmentInfo, 'name' | 'type'> & { readonly videoQuality?: VideoQuality },
  clock: Clock,
): Promise<EnvironmentInfo> => {
  const row = await insertEnvironment(database.queryable, {
    id: newShortId(),
    name,
    type,
    default_video_quality: videoQuality,
    created_at: clock.now(),
  });
  if (row) return toInfo(row);
  throw nameTaken(name);
};

const nameTaken = (name: string): KinoraError =>
  new KinoraError('invalid_parameters', { messages: [`An environment with the name ${name} already exists.`] });

/**
 * Running servers apply the change within three seconds.
 * @throws KinoraError `not_found`; `invalid_parameters` when the name is taken
 */
export const updateEnvironment = async (
  database: Database,
  id: string,
  { name, videoQuality }: Partial<Pick<EnvironmentInfo, 'name' | 'videoQuality'>>,
): Promise<EnvironmentInfo> => {
  const row = await updateEnvironmentRow(database.queryable, id, {
    ...(name !== undefined && { name }),
    ...(videoQuality && { default_video_quality: videoQuality }),
  });
  if (row === false) throw nameTaken(name!);
  if (row) return toInfo(row);
  throw new KinoraError('not_found', { messages: [`There is no environment ${id}.`] });
};

/** Oldest first: the first one is the default environment. */
export const listEnvironments = async (database: Database): Promise<EnvironmentInfo[]> =>
  (await listEnvironmentRows(database.queryable)).map(toInfo);

const toInfo = (row: Row<'environment'>): EnvironmentInfo => ({
  id: row.id,
  name: row.name,
  type: row.type,
  videoQuality: row.default_video_quality,
  createdAt: row.created_at,
});

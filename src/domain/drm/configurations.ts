import type { Database, Queryable } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import {
  countDrmPlaybackIds,
  findDrmConfiguration,
  insertDrmConfiguration,
  listDrmConfigurationRows,
  lockDrmConfiguration,
  removeDrmConfiguration,
} from '../../db/tables/playback/drm-configuration.js';
import { getInstallationSecret } from '../../db/tables/server/installation.js';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import { isId, newId } from '../../lib/ids.js';
import type { Path, Problems } from '../../lib/problems.js';
import { getEnvironmentId } from '../access/tokens.js';
import type { NewPlaybackId } from '../requests/asset-request.js';
import { SecretBox } from './secret-box.js';
import type { DrmConfiguration, DrmSettings } from './settings.js';

export interface NewDrmConfiguration extends Pick<DrmConfiguration, 'name' | 'keySource'> {
  /** The default environment when absent. */
  readonly environmentId?: string;
  readonly settings: DrmSettings;
}

const purposeOf = (id: string): string[] => ['drm_configuration', id];

/** @throws KinoraError `invalid_parameters` for an unknown environment */
export const createDrmConfiguration = async (
  database: Database,
  { name, keySource, environmentId, settings }: NewDrmConfiguration,
  clock: Clock,
): Promise<string> => {
  const db = database.queryable;
  const box = new SecretBox(await getInstallationSecret(db));
  const id = newId();
  await insertDrmConfiguration(db, {
    id,
    environment_id: await getEnvironmentId(db, environmentId),
    created_at: clock.now(),
    name,
    key_source: keySource,
    settings: box.seal(settings, purposeOf(id)),
  });
  return id;
};

/** Those of all environments, newest first. */
export const listDrmConfigurations = async (database: Database): Promise<DrmConfiguration[]> =>
  (await listDrmConfigurationRows(database.queryable, { limit: Number.MAX_SAFE_INTEGER, offset: 0 })).map(
    toConfiguration,
  );

/** In any environment. @throws KinoraError `not_found` */
export const getDrmConfiguration = async (
  database: Database,
  id: string,
): Promise<DrmConfiguration & { readonly settings: DrmSettings }> => {
  const row = isId(id) ? await findDrmConfiguration(database.queryable, id) : undefined;
  if (!row) throw unknown(id);
  const box = new SecretBox(await getInstallationSecret(database.queryable));
  return { ...toConfiguration(row), settings: readDrmSettings(box, row) };
};

/**
 * Also deletes its keys, so the configuration must not have playback IDs.
 * @throws KinoraError `not_found`, `invalid_parameters`
 */
export const deleteDrmConfiguration = async (database: Database, id: string): Promise<void> => {
  await database.transaction(async (tx) => {
    if (!isId(id) || !(await lockDrmConfiguration(tx, id, 'forRemoval'))) throw unknown(id);
    const uses = await countDrmPlaybackIds(tx, id);
    if (uses > 0) {
      const messages = [`${uses} playback IDs use the DRM configuration ${id}. Delete them first.`];
      throw new KinoraError('invalid_parameters', { messages });
    }
    await removeDrmConfiguration(tx, id);
  });
};

/**
 * Adds to `problems` each part of a request that names a configuration that its environment lacks.
 * In a transaction, the existing ones are locked against deletion until it ends.
 */
export const checkDrmConfiguration = async (
  db: Queryable,
  environmentId: string,
  { policy, drm_configuration_id: id = '' }: NewPlaybackId,
  path: Path,
  problems: Problems,
): Promise<void> => {
  if (policy !== 'drm') return;
  if (isId(id) && (await lockDrmConfiguration(db, id, { forChild: { environmentId } }))) return;
  problems.add([...path, 'drm_configuration_id'], 'does not refer to an existing DRM configuration');
};

export const readDrmSettings = (box: SecretBox, { id, settings }: Row<'drm_configuration'>): DrmSettings =>
  box.open(settings, purposeOf(id)) as DrmSettings;

const unknown = (id: string): KinoraError =>
  new KinoraError('not_found', { messages: [`There is no DRM configuration with the id ${JSON.stringify(id)}.`] });

const toConfiguration = (row: Row<'drm_configuration'>): DrmConfiguration => ({
  id: row.id,
  environmentId: row.environment_id,
  name: row.name,
  keySource: row.key_source,
  createdAt: row.created_at,
});

import type { Database, Queryable } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { lockAsset } from '../../db/tables/assets/asset.js';
import { insertContentKeys, listContentKeys } from '../../db/tables/playback/content-key.js';
import { findDrmConfiguration, lockDrmConfiguration } from '../../db/tables/playback/drm-configuration.js';
import { KinoraError } from '../../lib/errors.js';
import type { ServiceCaller } from '../../net/call-service.js';
import { readDrmSettings } from './configurations.js';
import { cpixKeys } from './cpix-keys.js';
import { type ContentKey, type KeySource, type KeySystemSignal, type KeyTrack, keyTracks } from './key-source.js';
import { localKeys, staticKeys } from './own-keys.js';
import { createSecretBox, type SecretBox } from './secret-box.js';
import type { DrmConfiguration, DrmSettings } from './settings.js';

/** The DRM data of an asset that is played through one configuration. */
export interface AssetKeys {
  readonly configurationId: string;
  readonly settings: DrmSettings;
  readonly video: ContentKey;
  readonly audio: ContentKey;
}

export interface ContentKeys {
  /**
   * Returns the same result on every call.
   * @throws KinoraError `unavailable` or `upstream_refused` when a key service provides none, `not_found` when the
   * asset or the configuration has been deleted in the meantime
   */
  get(configurationId: string, assetId: string): Promise<AssetKeys>;
}

interface ContentKeysDeps {
  readonly database: Database;
  readonly installationSecret: string;
  readonly services: ServiceCaller;
}

/** Every segment request needs the keys of its asset, and most viewers watch the same few assets. */
const MAX_KNOWN = 2000;

export const createContentKeys = ({ database, installationSecret, services }: ContentKeysDeps): ContentKeys => {
  const db = database.queryable;
  const box = createSecretBox(installationSecret);
  const known = new Map<string, Promise<AssetKeys>>();

  const sourceOf = (
    { id, keySource }: Pick<DrmConfiguration, 'id' | 'keySource'>,
    settings: DrmSettings,
  ): KeySource => {
    if (keySource === 'local') return localKeys;
    if (keySource === 'static') return staticKeys(settings.keys!);
    return cpixKeys(services, settings, id);
  };

  const read = async (db: Queryable, configurationId: string, assetId: string): Promise<ContentKey[] | undefined> => {
    const rows = await listContentKeys(db, configurationId, assetId);
    return rows.length === keyTracks.length ? rows.map((row) => openKey(box, row)) : undefined;
  };

  const make = async (
    { id, key_source: keySource, environment_id: environmentId }: Row<'drm_configuration'>,
    settings: DrmSettings,
    assetId: string,
  ): Promise<ContentKey[]> => {
    const made = await sourceOf({ id, keySource }, settings)
      .getKeys(assetId)
      .catch((error: unknown) => {
        throw withConfiguration(error, id);
      });
    return database.transaction(async (tx) => {
      const isThere =
        (await lockDrmConfiguration(tx, id, { forChild: { environmentId } })) &&
        (await lockAsset(tx, environmentId, assetId, 'forChild'));
      if (!isThere) throw new KinoraError('not_found');
      await insertContentKeys(
        tx,
        made.map((key) => sealKey(box, id, assetId, key)),
      );
      // Another server may have been first.
      return (await read(tx, id, assetId))!;
    });
  };

  const load = async (configurationId: string, assetId: string): Promise<AssetKeys> => {
    const row = await findDrmConfiguration(db, configurationId);
    if (!row) throw new KinoraError('not_found');
    const settings = readDrmSettings(box, row);
    const keys = (await read(db, configurationId, assetId)) ?? (await make(row, settings, assetId));
    const keyOf = (track: KeyTrack): ContentKey => keys.find((key) => key.track === track)!;
    return { configurationId, settings, video: keyOf('video'), audio: keyOf('audio') };
  };

  return {
    get(configurationId, assetId) {
      const name = `${configurationId} ${assetId}`;
      const before = known.get(name);
      if (before) return before;
      const loading = load(configurationId, assetId);
      known.set(name, loading);
      if (known.size > MAX_KNOWN) known.delete(known.keys().next().value!);
      loading.catch(() => known.delete(name));
      return loading;
    },
  };
};

/** Adds the configuration of a service to errors, for the log. */
export const withConfiguration = (error: unknown, configurationId: string): unknown => {
  if (!(error instanceof KinoraError)) return error;
  const { code, messages, cause, details } = error;
  return new KinoraError(code, { messages, cause, details: { ...details, drm_configuration_id: configurationId } });
};

const purposeOf = (configurationId: string, assetId: string, track: string): string[] => [
  'content_key',
  configurationId,
  assetId,
  track,
];

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

const sealKey = (box: SecretBox, configurationId: string, assetId: string, content: ContentKey) => {
  const { track, kid, key, iv, systems } = content;
  return {
    drm_configuration_id: configurationId,
    asset_id: assetId,
    track,
    kid: Buffer.from(kid).toString('hex'),
    secrets: box.seal({ key: base64(key), iv: base64(iv) }, purposeOf(configurationId, assetId, track)),
    systems: JSON.stringify(systems),
  };
};

const openKey = (box: SecretBox, row: Row<'content_key'>): ContentKey => {
  const { drm_configuration_id, asset_id, track } = row;
  const secrets = box.open(row.secrets, purposeOf(drm_configuration_id, asset_id, track)) as {
    key: string;
    iv: string;
  };
  return {
    track,
    kid: Buffer.from(row.kid.replaceAll('-', ''), 'hex'),
    key: Buffer.from(secrets.key, 'base64'),
    iv: Buffer.from(secrets.iv, 'base64'),
    systems: row.systems as KeySystemSignal[],
  };
};

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
import { SecretBox } from './secret-box.js';
import type { DrmConfiguration, DrmSettings } from './settings.js';

/** The DRM data of an asset that is played through one configuration. */
export interface AssetKeys {
  readonly configurationId: string;
  readonly settings: DrmSettings;
  readonly video: ContentKey;
  readonly audio: ContentKey;
}

interface ContentKeysDeps {
  readonly database: Database;
  readonly installationSecret: string;
  readonly services: ServiceCaller;
}

/**
 * Every segment request needs the keys of its asset, and most viewers watch the same few assets.
 */
const MAX_KNOWN = 2000;

/** The keys of assets: created once for each configuration, stored sealed, and cached opened. */
export class ContentKeys {
  readonly #database: Database;
  readonly #services: ServiceCaller;
  readonly #box: SecretBox;
  readonly #opened = new Map<string, Promise<AssetKeys>>();

  constructor({ database, installationSecret, services }: ContentKeysDeps) {
    this.#database = database;
    this.#services = services;
    this.#box = new SecretBox(installationSecret);
  }

  /**
   * Returns the same result on every call.
   * @throws KinoraError `unavailable` or `upstream_refused` when a key service provides none,
   * `not_found` when the asset or the configuration has been deleted in the meantime
   */
  get(configurationId: string, assetId: string): Promise<AssetKeys> {
    const name = `${configurationId} ${assetId}`;
    const before = this.#opened.get(name);
    if (before) return before;
    const loading = this.#load(configurationId, assetId);
    this.#opened.set(name, loading);
    if (this.#opened.size > MAX_KNOWN) this.#opened.delete(this.#opened.keys().next().value!);
    loading.catch(() => this.#opened.delete(name));
    return loading;
  }

  async #load(configurationId: string, assetId: string): Promise<AssetKeys> {
    const db = this.#database.queryable;
    const row = await findDrmConfiguration(db, configurationId);
    if (!row) throw new KinoraError('not_found');
    const settings = readDrmSettings(this.#box, row);
    const keys = (await this.#read(db, configurationId, assetId)) ?? (await this.#create(row, settings, assetId));
    const keyOf = (track: KeyTrack): ContentKey => keys.find((key) => key.track === track)!;
    return { configurationId, settings, video: keyOf('video'), audio: keyOf('audio') };
  }

  async #read(db: Queryable, configurationId: string, assetId: string): Promise<ContentKey[] | undefined> {
    const rows = await listContentKeys(db, configurationId, assetId);
    return rows.length === keyTracks.length ? rows.map((row) => openKey(this.#box, row)) : undefined;
  }

  async #create(
    { id, key_source: keySource, environment_id: environmentId }: Row<'drm_configuration'>,
    settings: DrmSettings,
    assetId: string,
  ): Promise<ContentKey[]> {
    const created = await this.#sourceOf({ id, keySource }, settings)
      .getKeys(assetId)
      .catch((error: unknown) => {
        throw withConfiguration(error, id);
      });
    return this.#database.transaction(async (tx) => {
      const exists =
        (await lockDrmConfiguration(tx, id, { forChild: { environmentId } })) &&
        (await lockAsset(tx, environmentId, assetId, 'forChild'));
      if (!exists) throw new KinoraError('not_found');
      await insertContentKeys(
        tx,
        created.map((key) => sealKey(this.#box, id, assetId, key)),
      );
      // Another server may have been first.
      return (await this.#read(tx, id, assetId))!;
    });
  }

  #sourceOf({ id, keySource }: Pick<DrmConfiguration, 'id' | 'keySource'>, settings: DrmSettings): KeySource {
    if (keySource === 'local') return localKeys;
    if (keySource === 'static') return staticKeys(settings.keys!);
    return cpixKeys(this.#services, settings, id);
  }
}

/** What the keys of a playback ID depend on. */
interface DrmPlayback {
  readonly policy: string;
  readonly drmConfigurationId?: string;
  readonly assetId: string;
}

/** The keys of a playback ID; undefined unless its policy is `drm`. */
export const keysOf = (
  contentKeys: Pick<ContentKeys, 'get'>,
  { policy, drmConfigurationId, assetId }: DrmPlayback,
): Promise<AssetKeys> | undefined => (policy === 'drm' ? contentKeys.get(drmConfigurationId!, assetId) : undefined);

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

import { inSeconds, type OwnedKey, signToken } from '../players/playback-token.js';
import { runCli } from '../processes/run-cli.js';
import type { Booted } from '../servers/boot.js';
import { api, createAsset, settled, type WireAsset } from './create-asset.js';

type Server = Pick<Booted, 'url' | 'token'>;

/** Runs `kinora drm create` beside the server and returns the id that it prints. */
export const createDrmConfiguration = async ({ dataDir }: Pick<Booted, 'dataDir'>, flags: readonly string[]) => {
  const args = ['drm', 'create', '--name', 'test', ...flags];
  const { status, stdout, stderr } = await runCli(args, { KINORA_DATA_DIR: dataDir });
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
};

export const createSigningKey = async (server: Server): Promise<OwnedKey> => {
  const response = await api(server, 'POST', '/system/v1/signing-keys');
  const { data } = (await response.json()) as { data: { id: string; private_key: string } };
  return { keyId: data.id, keySecret: data.private_key };
};

/** A token of a playback id that is good for an hour unless the claims say otherwise. */
export const playbackToken = (key: OwnedKey, playbackId: string, aud: string, claims: object = {}): string =>
  signToken(key, { kid: key.keyId, sub: playbackId, aud, exp: inSeconds(3600), ...claims });

export interface DrmAsset {
  readonly asset: WireAsset;
  readonly drmId: string;
}

/** A ready asset with a DRM playback id. */
export const createDrmAsset = async (server: Server, configurationId: string, fields: object): Promise<DrmAsset> => {
  const created = await createAsset(server, {
    video_quality: 'plus',
    advanced_playback_policies: [{ policy: 'drm', drm_configuration_id: configurationId }],
    ...fields,
  });
  const asset = await settled(server, created.id);
  if (asset.errors) throw new Error(JSON.stringify(asset.errors));
  return { asset, drmId: asset.playback_ids!.find(({ policy }) => policy === 'drm')!.id };
};

import pTimeout from 'p-timeout';
import { type ConfigSources, loadConfig } from '../config/load-config.js';
import { type Config, flagOf, options } from '../config/options.js';
import type { AdminResult } from '../control/admin-operations.js';
import type { Candidates, WantedIds } from './complete.js';
import { connectApi, PAGE } from './support/api-client.js';
import { askServer } from './support/ask-server.js';
import type { ApiAsset } from './support/assets.js';

/** Whoever presses Tab waits for it. */
const LIMIT_MS = 1500;

/** The first page. */
const newest = async <T>(config: Config, path: string): Promise<T[]> =>
  (await (await connectApi(config))<T[]>('GET', `${path}?limit=${PAGE}`)).data;

/** By kind: the IDs with what a person knows them by. */
const lists: Readonly<Record<string, (config: Config) => Promise<Candidates>>> = {
  asset: async (config) =>
    (await newest<ApiAsset>(config, '/video/v1/assets')).map(({ id, meta, status }) => [id, meta?.title ?? status]),
  live: async (config) =>
    (await newest<Pick<ApiAsset, 'id' | 'meta'> & { status: string }>(config, '/video/v1/live-streams')).map(
      ({ id, meta, status }) => [id, meta?.title ?? status],
    ),
  playback: async (config) =>
    (await newest<ApiAsset>(config, '/video/v1/assets')).flatMap((asset) =>
      // Everyone may watch the public ones without a signature.
      (asset.playback_ids ?? [])
        .filter(({ policy }) => policy !== 'public')
        .map(({ id }) => [id, asset.meta?.title ?? asset.id] as const),
    ),
  upload: async (config) =>
    (await newest<{ id: string; status: string }>(config, '/video/v1/uploads'))
      .filter(({ status }) => status === 'waiting')
      .map(({ id, status }) => [id, status]),
  webhook: async (config) =>
    (await newest<{ id: string; address: string }>(config, '/system/v1/webhooks')).map(({ id, address }) => [
      id,
      address,
    ]),
  budget: async (config) =>
    (await newest<{ id: string; asset_id?: string; status: string }>(config, '/video/v1/delivery-budgets')).map(
      ({ id, asset_id: assetId, status }) => [id, `${status}: ${assetId ?? 'everything in the environment'}`],
    ),
  'signing-key': async (config) =>
    (await newest<{ id: string }>(config, '/system/v1/signing-keys')).map(({ id }) => [id, 'signing key']),
  token: async ({ dataDir }) =>
    (await askServer<AdminResult<'token list'>>(dataDir, 'token list'))
      .filter(({ revokedAt }) => revokedAt === undefined)
      .map(({ id, name }) => [id, name]),
  env: async ({ dataDir }) =>
    (await askServer<AdminResult<'env list'>>(dataDir, 'env list')).map(({ id, name }) => [id, name]),
  drm: async ({ dataDir }) =>
    (await askServer<AdminResult<'drm list'>>(dataDir, 'drm list')).map(({ id, name }) => [id, name ?? 'unnamed']),
};

/**
 * IDs from the running server. None when it doesn't answer at once: a shell has no place for an
 * error.
 */
export const completeIds = async (
  { kind, flags, givenWords }: WantedIds,
  sources: Omit<ConfigSources, 'flags'>,
): Promise<Candidates> => {
  const settings = Object.values(options).flatMap(({ variable }) => {
    const value = flags[flagOf(variable)];
    return value === undefined ? [] : [[variable, value] as const];
  });
  try {
    const { config } = loadConfig({ flags: Object.fromEntries(settings), ...sources });
    const candidates = await pTimeout(lists[kind]?.(config) ?? Promise.resolve([]), { milliseconds: LIMIT_MS });
    // A candidate is a line with a tab between ID and description.
    return candidates.filter(([id]) => !givenWords.includes(id)).map(([id, doc]) => [id, doc.replace(/\s+/g, ' ')]);
  } catch {
    return [];
  }
};

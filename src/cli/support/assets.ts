import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../config/options.js';
import { backoffMs } from '../../lib/backoff.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { type ApiCall, PAGE, serverUrl } from './api-client.js';
import { type Flag, type Flags, textOf, usageError } from './command.js';
import type { Progress } from './progress.js';

/** The fields of an asset that the command line reads. */
export interface ApiAsset {
  readonly id: string;
  readonly status: 'preparing' | 'ready' | 'errored';
  readonly created_at: string;
  readonly progress: { readonly state: string; readonly progress: number };
  readonly duration?: number;
  readonly resolution_tier?: string;
  readonly aspect_ratio?: string;
  readonly video_quality?: string;
  readonly passthrough?: string;
  readonly playback_ids?: readonly PlaybackId[];
  readonly meta?: { readonly title?: string };
  readonly errors?: { readonly messages: readonly string[] };
}

export interface PlaybackId {
  readonly id: string;
  readonly policy: string;
}

const ASSETS = '/video/v1/assets';
const POLL_MS = 500;
/** Consecutive polls without a response; with their pauses, about a minute. */
const MAX_VAIN_POLLS = 10;
const PAUSE = { baseMs: POLL_MS, maxMs: 10_000 };

/** Only for valid IDs: an empty one, or `..`, would change the path. */
export const assetPath = (id: string): string => {
  if (isId(id)) return `${ASSETS}/${id}`;
  throw new KinoraError('not_found', { messages: [`There is no asset with the id ${JSON.stringify(id)}.`] });
};

/** @throws KinoraError `not_found`, with advice */
export const getAsset = async (api: ApiCall, id: string): Promise<ApiAsset> => {
  const path = assetPath(id);
  const { data } = await api<ApiAsset>('GET', path).catch((error: unknown) => {
    if (!isKinoraError(error, 'not_found')) throw error;
    const advice = 'Is it a playback ID? kinora asset list shows asset IDs.';
    throw new KinoraError('not_found', { messages: [...error.messages, advice] });
  });
  return data;
};

/** The flags that choose assets. */
export const assetFilters: Readonly<Record<string, string | Flag>> = {
  '--status <status>': { doc: 'only assets with this status', choices: ['preparing', 'ready', 'errored'] },
  '--title <text>': 'only assets whose title contains the text, in upper or lower case, or whose ID it is',
};

/** Those that the server finds, newest first, and no more than `limit`. */
export const findAssets = async (api: ApiCall, flags: Flags, limit = Number.POSITIVE_INFINITY): Promise<ApiAsset[]> => {
  const title = textOf(flags, '--title');
  if (title?.trim() === '') throw usageError('--title must not be empty.');
  const pageSize = Math.min(limit, PAGE);
  const query = new URLSearchParams({ limit: String(pageSize), ...(title !== undefined && { search: title }) });
  const status = textOf(flags, '--status');
  if (status !== undefined) query.set('status', status);
  // An asset that is created meanwhile moves others to the next page.
  const assetsById = new Map<string, ApiAsset>();
  for (let page = 1, length = pageSize; length === pageSize && assetsById.size < limit; page++) {
    const { data } = await api<ApiAsset[]>('GET', `/console/api/assets?${query}&page=${page}`);
    for (const asset of data) assetsById.set(asset.id, asset);
    length = data.length;
  }
  return [...assetsById.values()].slice(0, limit);
};

export const describeState = (asset: ApiAsset): string => {
  if (asset.status !== 'preparing') return asset.status;
  const { state, progress } = asset.progress;
  return state === 'transcoding' ? `${state} ${Math.floor(progress)} %` : state;
};

/** ISO 8601 from the Unix seconds of the API. */
export const timeOf = (seconds: string | number): string => new Date(Number(seconds) * 1000).toISOString();

export const publicPlaybackId = (asset: ApiAsset): PlaybackId | undefined =>
  asset.playback_ids?.find(({ policy }) => policy === 'public');

/** The page that plays a playback ID. */
export const playerUrl = (config: Config, playbackId: string): string =>
  `${config.streamUrl ?? serverUrl(config)}/${playbackId}`;

/** Why an asset failed, with advice where there is some. */
export const problemsOf = (asset: ApiAsset): readonly string[] => {
  const messages = asset.errors?.messages ?? [];
  if (messages.length === 0) return ['The asset failed.'];
  if (!messages.includes('The input URL is not allowed.')) return messages;
  return [...messages, 'To import from a private address, start the server with --allow-private-sources.'];
};

/**
 * Follows assets until each is ready or errored, in the order given. Waits for a server that is
 * restarted.
 */
export const watchAssets = async (
  api: ApiCall,
  ids: readonly string[],
  progress: Pick<Progress, 'show' | 'end'>,
): Promise<ApiAsset[]> => {
  const assets = new Map<string, ApiAsset>();
  const pending = new Set(ids);
  /** Without a terminal, each line that is shown stays, so only changes are. */
  const shown = new Map<string, string>();
  let vainPolls = 0;
  while (pending.size > 0) {
    try {
      for (const id of pending) {
        const asset = await getAsset(api, id);
        assets.set(id, asset);
        if (asset.status !== 'preparing') pending.delete(id);
        const count =
          ids.length > 1 && process.stderr.isTTY ? `${ids.length - pending.size} of ${ids.length} done  ` : '';
        const line = `${count}${id}  ${describeState(asset)}`;
        if (shown.get(id) !== line) progress.show(line);
        shown.set(id, line);
      }
      vainPolls = 0;
      if (pending.size > 0) await delay(POLL_MS);
    } catch (error) {
      vainPolls += 1;
      if (!isKinoraError(error, 'unavailable') || vainPolls > MAX_VAIN_POLLS) throw error;
      shown.clear();
      progress.show('waiting for the server');
      await delay(backoffMs(vainPolls, PAUSE));
    }
  }
  progress.end();
  return ids.map((id) => assets.get(id)!);
};

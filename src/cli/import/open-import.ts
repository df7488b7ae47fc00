import { systemClock } from '../../lib/clock.js';
import { ServiceClient } from '../../net/service-client.js';
import { SourceApi } from '../../net/source-api.js';
import { createServerCalls, type ServerCall } from './server-calls.js';

const MUX_URL = 'https://api.mux.com';
const MUX_STREAM_URL = 'https://stream.mux.com';
/** A page of assets with many tracks, from a source that is busy. */
const RESPONSE_LIMIT_MS = 30_000;

export interface SourceOptions {
  /** The URL of the source's API; that of Mux if absent. */
  readonly sourceUrl?: string;
  /** Where the source serves its streams; that of Mux for Mux, otherwise the URL of its API. */
  readonly streamUrl?: string;
  readonly tokenId: string;
  readonly tokenSecret: string;
  readonly ratePerSecond: number;
  /** The environment here; the first one if absent. */
  readonly environmentId?: string;
  readonly dataDir: string;
  readonly signal: AbortSignal;
  /** Says what the import waits for. */
  readonly onWait: (sentence: string) => void;
  /** See `SourceApiOptions`. */
  readonly retryDelayMs?: number;
}

/** Both ends of an import. */
export interface OpenImport {
  readonly api: SourceApi;
  readonly server: ServerCall;
  readonly sourceUrl: string;
  readonly streamUrl: string;
  readonly environmentId: string;
  readonly environmentName: string;
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, '');

/** @throws KinoraError `unavailable` when no server runs, `not_found` for an unknown environment */
export const openImport = async (options: SourceOptions): Promise<OpenImport> => {
  const { dataDir, signal, onWait, environmentId } = options;
  const sourceUrl = withoutSlash(options.sourceUrl ?? MUX_URL);
  const onUnavailable = (): void => onWait('The server here does not answer. Waiting for it.');
  const server = createServerCalls({ dataDir, signal, onUnavailable });
  const { settings } = await server('status', {});
  const target = await server('import target', { environmentId });
  const api = new SourceApi({
    ...options,
    url: sourceUrl,
    // Files are fetched by the server, so what it may reach applies.
    allowPrivate: settings.allowPrivateSources,
    caller: new ServiceClient({ allowPrivate: settings.allowPrivateSources, limitMs: RESPONSE_LIMIT_MS }),
    clock: systemClock,
    onWait: (reason, waitMs) => onWait(`${reason}. Waiting for ${(waitMs / 1000).toFixed(1)} s.`),
  });
  return {
    api,
    server,
    sourceUrl,
    streamUrl: withoutSlash(options.streamUrl ?? (sourceUrl === MUX_URL ? MUX_STREAM_URL : sourceUrl)),
    environmentId: target.id,
    environmentName: target.name,
  };
};

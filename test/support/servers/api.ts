import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Mux from '@mux/mux-node';
import type { FastifyPluginAsync } from 'fastify';
import { wireFormat } from '#kinora/api/wire-format.js';
import { audienceRoutes } from '#kinora/audience/routes/audience-routes.js';
import { exportRoutes } from '#kinora/audience/routes/view-export.js';
import type { Database } from '#kinora/db/database.js';
import { getInstallationSecret } from '#kinora/db/tables/server/installation.js';
import { bootstrap } from '#kinora/domain/access/bootstrap.js';
import { createEnvironment } from '#kinora/domain/access/environments.js';
import { sessionCookieName } from '#kinora/domain/access/sessions.js';
import { createToken, type NewToken, revokeToken } from '#kinora/domain/access/tokens.js';
import type { DomainContext } from '#kinora/domain/context.js';
import { noLiveControl } from '#kinora/domain/live/live-control.js';
import type { VideoQuality } from '#kinora/domain/requests/asset-request.js';
import { ArtifactUrls } from '#kinora/domain/signing/artifact-urls.js';
import { createApp } from '#kinora/http/app.js';
import type { AppDeps } from '#kinora/http/app-deps.js';
import { Connections } from '#kinora/http/close-http.js';
import { createUploadWorkers } from '#kinora/jobs/settle-uploads.js';
import { systemClock } from '#kinora/lib/clock.js';
import type { Resolve } from '#kinora/net/resolve-host.js';
import { WebhookClient } from '#kinora/net/webhook-client.js';
import { createTextParser } from '#kinora/packager/parse-text.js';
import { TextTracks } from '#kinora/packager/text-tracks.js';
import { createQueue } from '#kinora/queue/job-queue.js';
import { robotsHook } from '#kinora/robots/asset-hook.js';
import { robotsRoutes } from '#kinora/robots/routes/robots-routes.js';
import { DiskBlobStore } from '#kinora/storage/disk/disk-blob-store.js';
import { UploadFiles } from '#kinora/uploads/upload-files.js';
import { UploadSessions } from '#kinora/uploads/upload-sessions.js';
import { UploadUrls } from '#kinora/uploads/upload-urls.js';
import { memoryLogger } from '../memory-logger.js';
import { watchResponses } from '../wire/documented-responses.js';
import { openTestDatabase } from './database.js';

const CLOSE_LIMIT_MS = 10_000;

interface ApiOptions
  extends Pick<AppDeps, 'rateLimits' | 'strictFields' | 'trustedProxies' | 'consoleDir' | 'streamUrl'>,
    Partial<Pick<AppDeps, 'live'>> {
  /** The largest upload; 1 MiB when absent. */
  readonly maxUploadBytes?: number;
  /** Migrated; an embedded one when absent. Closed by `stop`. */
  readonly database?: Database;
  readonly streamPlugin?: FastifyPluginAsync;
  /** Networks that webhooks may reach; none that is not public when absent. */
  readonly allowPrivate?: readonly string[];
  readonly resolve?: Resolve;
  readonly checks?: Readonly<Record<string, () => Promise<unknown>>>;
  readonly onSigningKeyDeleted?: (signingKeyId: string) => void;
  readonly onPlaybackRestrictionChanged?: (restrictionId: string) => void;
  readonly onPublicRestrictionChanged?: (environmentId: string) => void;
  readonly onBudgetChanged?: () => void;
}

export type Api = Awaited<ReturnType<typeof startApi>>;

/** The API on a free port with an embedded database of its own; no job ever runs. */
export const startApi = async ({
  database: given,
  allowPrivate = [],
  resolve,
  maxUploadBytes = 2 ** 20,
  ...options
}: ApiOptions = {}) => {
  const logger = memoryLogger();
  const opened = given ? { database: given, close: () => given.close() } : await openTestDatabase();
  const { database } = opened;
  const clock = {
    ...{ aheadMs: 0, daysAhead: 0 },
    now: () => new Date(systemClock.now().getTime() + clock.daysAhead * 24 * 3600_000),
    monotonicMs: () => systemClock.monotonicMs() + clock.aheadMs + clock.daysAhead * 24 * 3600_000,
  };
  const forgotten: unknown[] = [];
  let origin = '';
  const blobDir = await mkdtemp(join(tmpdir(), 'kinora-blobs-'));
  const { newToken } = await bootstrap(database, { dataDir: blobDir }, clock);
  const domain: DomainContext = {
    database,
    queue: createQueue(database),
    clock,
    wire: wireFormat,
    sourceBuckets: [],
    recognizesSpeech: false,
    assetHook: robotsHook,
    artifactUrls: new ArtifactUrls(await getInstallationSecret(database.queryable), () => origin),
    live: noLiveControl,
    apiUrl: () => origin,
    onAssetDeleted: (assetId, playbackIds) => void forgotten.push({ assetId, playbackIds }),
    onPlayableChanged: (assetId) => void forgotten.push({ tracksOf: assetId }),
    onPlaybackIdDeleted: (playbackId) => void forgotten.push({ playbackId }),
    onSigningKeyDeleted: (signingKeyId) => void forgotten.push({ signingKeyId }),
    onPlaybackRestrictionChanged: (restrictionId) => void forgotten.push({ restrictionId }),
    onPublicRestrictionChanged: (environmentId) => void forgotten.push({ publicRestrictionOf: environmentId }),
    onBudgetChanged: () => undefined,
  };
  const blobs = new DiskBlobStore(blobDir);
  const files = new UploadFiles({ context: domain, blobs, logger });
  const uploadSessions = new UploadSessions({ context: domain, blobs, files, logger, maxBytes: maxUploadBytes });
  const app = createApp({
    ...domain,
    apiExtensions: [robotsRoutes(domain), audienceRoutes(domain)],
    logger,
    texts: new TextTracks(blobs, createTextParser()),
    webhookSender: new WebhookClient({ allowPrivate, ...(resolve && { resolve }) }),
    checks: { database: () => database.ping() },
    readFigures: async () => ({ version: 'of the test' }),
    ingestUrls: (hostname) => [`rtmp://${hostname}:1935/app`],
    sessionCookie: sessionCookieName(await getInstallationSecret(database.queryable)),
    uploads: {
      sessions: uploadSessions,
      urls: new UploadUrls(await getInstallationSecret(database.queryable), () => origin),
    },
    // Of exports, which have URLs like those of viewers.
    streamPlugin: exportRoutes(domain),
    ...options,
  });
  const undocumented = watchResponses(app);
  const connections = new Connections(app);
  await app.listen({ host: '127.0.0.1', port: 0 });
  origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;

  const call = (token: string | undefined, method: string, path: string, body?: unknown, headers = {}) =>
    fetch(`${origin}${path}`, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Basic ${Buffer.from(token).toString('base64')}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });

  return {
    origin,
    /** `id:secret` with every permission in the default environment. */
    token: newToken!,
    database,
    /** What operations of the domain work with. */
    context: domain,
    /** For tests to run in place of the queue. */
    uploadWorkers: createUploadWorkers({ database, clock, uploadSessions }),
    /** The sources that uploads bring; unfinished ones below `.partial`. */
    blobDir,
    logger,
    clock,
    /** What the caches were told to forget, in order. */
    forgotten,
    /** A request as the given token, or without credentials. */
    callAs: call,
    call: (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
      call(newToken, method, path, body, headers),
    /** The official SDK, connected as `token`; it never retries, so that each answer is seen. */
    sdk: (token = newToken!) => {
      const [tokenId, tokenSecret] = token.split(':');
      return new Mux({ baseURL: origin, tokenId: tokenId!, tokenSecret: tokenSecret!, maxRetries: 0 });
    },
    newToken: (token: NewToken) => createToken(database, token, clock),
    newEnvironment: (name: string, videoQuality: VideoQuality = 'basic') =>
      createEnvironment(database, { name, type: 'development', videoQuality }, clock),
    revoke: (tokenId: string) => revokeToken(database, tokenId, clock),
    /** Makes an asset ready as the ingest would, as far as its answer is concerned. */
    makeReady: async (assetId: string, durationSeconds: number) => {
      await database.queryable
        .updateTable('asset')
        .set({ status: 'ready', progress_state: 'completed', progress: 100, duration_seconds: durationSeconds })
        .where('id', '=', assetId)
        .execute();
    },
    /** Fails when an answer was not as the OpenAPI document says. */
    stop: async () => {
      await connections.close(CLOSE_LIMIT_MS);
      await opened.close();
      await rm(blobDir, { recursive: true, force: true });
      if (undocumented.length > 0) throw new Error(`Not as the OpenAPI document says:\n${undocumented.join('\n')}`);
    },
  };
};

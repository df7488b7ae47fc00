import { wireFormat } from '../api/wire-format.js';
import type { Database } from '../db/database.js';
import { listPhrases } from '../db/tables/assets/vocabulary.js';
import { getInstallationSecret } from '../db/tables/server/installation.js';
import { warnFramesLost } from '../domain/assets/warn-frames-lost.js';
import type { DomainContext } from '../domain/context.js';
import { ContentKeys } from '../domain/drm/content-keys.js';
import { AccessCheck, accessRowsOf } from '../domain/playback/access-check.js';
import { PlayableFinder } from '../domain/playback/playable-finder.js';
import { watchPlaybackChanges } from '../domain/playback/watch-changes.js';
import { RenditionOpener } from '../domain/renditions/open-rendition.js';
import { ArtifactUrls } from '../domain/signing/artifact-urls.js';
import { BudgetLimits } from '../domain/usage/budget-limits.js';
import { reportBudgets } from '../domain/usage/report-budgets.js';
import { EarlySources } from '../early/sources.js';
import { UploadPlay } from '../early/upload-play.js';
import { LiveServer } from '../live/live-server.js';
import { LiveRungs } from '../live/rungs/live-rungs.js';
import { SlateMaker } from '../live/slate/slate-maker.js';
import { SubtitleMaker } from '../live/subtitles/subtitle-maker.js';
import type { Plan } from '../media/plan/plan.js';
import { ConnectionClient } from '../net/connection-client.js';
import { ServiceClient } from '../net/service-client.js';
import { SourceClient } from '../net/source-client.js';
import { WebhookClient } from '../net/webhook-client.js';
import { ImageProducer } from '../packager/image-producer.js';
import { createTextParser } from '../packager/parse-text.js';
import { SegmentProducer } from '../packager/segment-producer.js';
import { SourceRanges } from '../packager/source-ranges.js';
import { TextTracks } from '../packager/text-tracks.js';
import { createQueue } from '../queue/job-queue.js';
import { createTranscriber } from '../speech/create-transcriber.js';
import { UploadFiles } from '../uploads/upload-files.js';
import { UploadLeases } from '../uploads/upload-leases.js';
import { UploadSessions } from '../uploads/upload-sessions.js';
import { connectAudience } from './connect-audience.js';
import { ownHostsOf } from './own-hosts.js';
import type { Base, MediaParts, Parts } from './parts.js';
import { SharedLiveControl } from './shared-live-control.js';
import { Nodes } from './start-nodes.js';

/** Creates what requests and jobs use. `apiUrl` is only called once the server listens. */
export const connectParts = async (
  base: Base,
  media: MediaParts,
  database: Database,
  apiUrl: () => string,
): Promise<Parts> => {
  const { config, logger, clock, metrics, phases } = base;
  const { cache, pool, blobs, diskSpace } = media;
  const outside = { allowPrivate: config.allowPrivateSources, resolve: base.resolve };
  const earlySources = new EarlySources(() => nodes?.announce());
  const throwIfWithdrawn = (plan: Plan): void => earlySources.throwIfWithdrawn(plan);
  const sourceRanges = new SourceRanges({
    blobs,
    earlyRanges: (assetId, spans) => earlySources.rangesOf(assetId, spans),
  });
  const installationSecret = await getInstallationSecret(database.queryable);
  // Files on the disk of this server: then it is the only one.
  const isAlone = config.blobs === 'file' || !config.databaseUrl;
  const nodes = isAlone
    ? undefined
    : new Nodes({ ...base, database, installationSecret, early: () => [...earlySources.ids(), ...live.ids()] });
  const producer = new SegmentProducer({
    ...{ cache, pool, blobs, throwIfWithdrawn, sourceRanges, clock, logger, metrics },
    onFramesLost: (assetId, loss) => warnFramesLost({ database, clock, wire: wireFormat, logger }, assetId, loss),
    peers: nodes?.peers,
  });
  phases.push({ name: 'segment producer', end: () => producer.stop() });
  const rungs = new LiveRungs({
    ...{ pool, clock, logger },
    store: cache,
    temporaryDir: media.temporaryDir,
    maxRungs: config.liveRungs,
  });
  const fetcher = new SourceClient({
    ...outside,
    ...{ userAgent: config.userAgent, maxBytes: config.maxSourceBytes, clock, logger },
  });
  const slates = new SlateMaker({ pool, fetcher, blobs, temporaryDir: media.temporaryDir });
  const transcriber = createTranscriber(config, pool);
  transcriber?.check('auto').catch((error: unknown) => {
    logger.warn({ err: error }, 'speech recognition unavailable');
  });
  const texts = new TextTracks(blobs, createTextParser());
  const subtitles = new SubtitleMaker({
    ...{ pool, transcriber, texts, clock, logger },
    temporaryDir: media.temporaryDir,
    listPhrases: (assetId) => listPhrases(database.queryable, assetId),
  });
  const live = new LiveServer({
    ...{ blobs, rungs, slates, subtitles, clock, logger },
    opener: new ConnectionClient(outside),
    onChanged: () => nodes?.announce(),
    freeBytes: () => diskSpace.freeBytes(),
    maxBytes: config.maxSourceBytes,
  });
  const services = new ServiceClient(outside);
  const { playables, access, renditions, budgets } = await watchPlayback(base, media, {
    database,
    earlySources,
    installationSecret,
    live,
  });
  const context: DomainContext = {
    database,
    queue: createQueue(database),
    clock,
    wire: wireFormat,
    artifactUrls: new ArtifactUrls(installationSecret, () => config.streamUrl ?? apiUrl()),
    sourceBuckets: config.sourceBuckets ?? [],
    recognizesSpeech: transcriber !== undefined,
    assetHook: base.robots?.assetHook,
    live: nodes ? new SharedLiveControl({ live, nodes, database }) : live,
    apiUrl,
    onAssetDeleted: (assetId, playbackIds) => {
      playables.forget(assetId);
      for (const playbackId of playbackIds) playables.forget(playbackId);
    },
    onPlayableChanged: (assetId) => playables.forget(assetId),
    onPlaybackIdDeleted: (playbackId) => playables.forget(playbackId),
    onSigningKeyDeleted: (signingKeyId) => access.forgetSigningKey(signingKeyId),
    onPlaybackRestrictionChanged: (restrictionId) => access.forgetPlaybackRestriction(restrictionId),
    onPublicRestrictionChanged: (environmentId) => access.forgetPublicRestriction(environmentId),
    onBudgetChanged: () => void budgets.refresh(),
  };
  const uploadSessions = await startUploads(base, media, { context, earlySources, producer });
  const parts = {
    ...media,
    database,
    context,
    producer,
    earlySources,
    images: new ImageProducer({ cache, pool, blobs, throwIfWithdrawn, sourceRanges, clock }),
    texts,
    playables,
    renditions,
    access,
    budgets,
    contentKeys: new ContentKeys({ database, installationSecret, services }),
    services,
    transcriber,
    webhookSender: new WebhookClient(outside),
    uploadSessions,
    live,
    installationSecret,
    nodes,
  };
  const audience = connectAudience(base, parts);
  return { ...parts, audience, robots: base.robots?.connect(base, { ...parts, audience }) };
};

/** What is kept in memory of playback IDs, access rules and renditions. */
const watchPlayback = async (
  { config, clock, phases, logger }: Base,
  { blobs }: MediaParts,
  {
    database,
    earlySources,
    live,
    installationSecret,
  }: Pick<Parts, 'database' | 'earlySources' | 'live' | 'installationSecret'>,
): Promise<Pick<Parts, 'playables' | 'access' | 'renditions' | 'budgets'>> => {
  const playables = new PlayableFinder({
    database,
    clock,
    early: earlySources,
    feeds: live,
    maxBytes: config.planSizeBytes,
    av1After: config.av1After,
  });
  const access = new AccessCheck({
    rows: accessRowsOf(database),
    clock,
    childSecret: config.edgeSecret ?? installationSecret,
    riskyUserAgents: config.riskyUserAgents,
    ownHosts: ownHostsOf(config),
  });
  const renditions = new RenditionOpener({ database, blobs, clock });
  const budgets = new BudgetLimits({
    read: (now) => reportBudgets({ database, clock, wire: wireFormat }, now),
    clock,
    logger,
  });
  phases.push({ name: 'delivery budgets', end: () => budgets.stop() });
  await budgets.refresh();
  const stopWatching = await watchPlaybackChanges(database, { playables, access, renditions, budgets });
  phases.push({ name: 'watch of changes', end: stopWatching });
  return { playables, access, renditions, budgets };
};

/** The sessions of direct uploads, with their leases where several servers share the bucket. */
const startUploads = async (
  { config, logger, phases }: Base,
  { blobs, cache, pool, temporaryDir }: MediaParts,
  { context, earlySources, producer }: Pick<Parts, 'context' | 'earlySources' | 'producer'>,
): Promise<UploadSessions> => {
  const playDeps = { context, blobs, earlySources, cache, producer, pool, temporaryDir, logger };
  const files = new UploadFiles({
    ...{ context, blobs, logger },
    early: config.rangeSources
      ? { blobs, play: (upload) => new UploadPlay(playDeps, upload) }
      : 'KINORA_RANGE_SOURCES is false',
  });
  phases.push({ name: 'uploads', end: () => files.stop() });
  const leases = blobs.resumeShared && new UploadLeases(context.database);
  const sessions = new UploadSessions({ context, blobs, files, leases, logger, maxBytes: config.maxSourceBytes });
  if (leases) {
    await leases.start((uploadId) => {
      sessions.release(uploadId).catch((error: unknown) => {
        logger.warn({ err: error, upload_id: uploadId }, 'early playback of upload not ended');
      });
    });
    phases.push({ name: 'upload leases', end: () => leases.stop() });
  }
  return sessions;
};

/**
 * A server that plays one prepared asset: real database, cache, media processes and routes, without
 * an ingest.
 */
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { wireFormat } from '#kinora/api/wire-format.js';
import { SegmentStore } from '#kinora/cache/segment-store.js';
import { insertTracks } from '#kinora/db/tables/assets/track.js';
import { getInstallationSecret } from '#kinora/db/tables/server/installation.js';
import { createDrmConfiguration } from '#kinora/domain/drm/configurations.js';
import { ContentKeys } from '#kinora/domain/drm/content-keys.js';
import type { DrmSettings } from '#kinora/domain/drm/settings.js';
import { AccessCheck, accessRowsOf } from '#kinora/domain/playback/access-check.js';
import type { LiveFeeds } from '#kinora/domain/playback/live-feed.js';
import { PlayableFinder } from '#kinora/domain/playback/playable-finder.js';
import { type OpenRendition, RenditionOpener } from '#kinora/domain/renditions/open-rendition.js';
import { BudgetLimits } from '#kinora/domain/usage/budget-limits.js';
import { DeliveryCounter } from '#kinora/domain/usage/delivery-counter.js';
import { reportBudgets } from '#kinora/domain/usage/report-budgets.js';
import { EarlySources } from '#kinora/early/sources.js';
import { imageRoutes } from '#kinora/http/image/image-routes.js';
import { licenseRoutes } from '#kinora/http/stream/license-routes.js';
import { PlaybackOpener } from '#kinora/http/stream/playback-opener.js';
import { streamRoutes } from '#kinora/http/stream/stream-routes.js';
import { systemClock } from '#kinora/lib/clock.js';
import { newId } from '#kinora/lib/ids.js';
import type { Plan } from '#kinora/media/plan/plan.js';
import { ServiceClient } from '#kinora/net/service-client.js';
import { ImageProducer } from '#kinora/packager/image-producer.js';
import { createTextParser } from '#kinora/packager/parse-text.js';
import { SegmentProducer, type SegmentProducerDeps } from '#kinora/packager/segment-producer.js';
import { SourceRanges } from '#kinora/packager/source-ranges.js';
import { TextTracks } from '#kinora/packager/text-tracks.js';
import { MediaPool } from '#kinora/pool/media-pool.js';
import { DiskBlobStore } from '#kinora/storage/disk/disk-blob-store.js';
import { sourceKey } from '#kinora/storage/keys.js';
import { memoryLogger } from '../memory-logger.js';
import { startApi } from '../servers/api.js';

export interface PreparedAsset {
  readonly assetId: string;
  readonly publicId: string;
  readonly signedId: string;
  /** Keys are Kinora's own, with ClearKey. */
  readonly drmId: string;
}

type PlaybackOptions = Parameters<typeof startApi>[0] &
  Pick<SegmentProducerDeps, 'onFramesLost'> & {
    readonly allowServices?: boolean;
    readonly serviceLimitMs?: number;
    /** Limits what the cache keeps in memory; nothing by default. */
    readonly hotBytes?: number;
    /** What is on air. */
    readonly feeds?: LiveFeeds;
    readonly av1After?: number | 'never';
  };

const NOTHING_ON_AIR: LiveFeeds = { ofAsset: () => undefined, ofStream: () => undefined };

export const startPlayback = async ({
  allowServices = true,
  serviceLimitMs,
  hotBytes,
  onFramesLost,
  feeds = NOTHING_ON_AIR,
  av1After = 'never',
  ...options
}: PlaybackOptions = {}) => {
  const dir = await mkdtemp(join(tmpdir(), 'kinora-playback-'));
  const logger = memoryLogger();
  const blobDir = join(dir, 'blobs');
  const cacheDir = join(dir, 'cache');
  const blobs = new DiskBlobStore(blobDir);
  const cache = await SegmentStore.open({ dir: cacheDir, maxBytes: 1e9, hotBytes, logger, clock: systemClock });
  const pool = await MediaPool.start({
    readDirs: [blobDir],
    writeDir: join(cacheDir, 'tmp'),
    memoryBytes: 1024 ** 3,
    size: 2,
    logger,
    clock: systemClock,
  });
  const earlySources = new EarlySources();
  const sourceRanges = new SourceRanges({
    blobs,
    earlyRanges: (assetId, spans) => earlySources.rangesOf(assetId, spans),
  });
  const throwIfWithdrawn = (plan: Plan): void => earlySources.throwIfWithdrawn(plan);
  const producer = new SegmentProducer({
    cache,
    pool,
    blobs,
    throwIfWithdrawn,
    sourceRanges,
    clock: systemClock,
    logger,
    ...(onFramesLost && { onFramesLost }),
  });
  const images = new ImageProducer({
    cache,
    pool,
    blobs,
    throwIfWithdrawn,
    sourceRanges,
    clock: systemClock,
  });
  // The routes need these before the API has made the database.
  let access: AccessCheck | undefined;
  let finder: PlayableFinder | undefined;
  let deliveries: DeliveryCounter | undefined;
  let openRendition: OpenRendition | undefined;
  let contentKeys: ContentKeys | undefined;
  let budgets: BudgetLimits | undefined;
  const limits: Pick<BudgetLimits, 'of'> = { of: (owner) => budgets!.of(owner) };
  const services = new ServiceClient({
    allowPrivate: allowServices,
    ...(serviceLimitMs !== undefined && { limitMs: serviceLimitMs }),
  });
  const deferredKeys: Pick<ContentKeys, 'get'> = { get: (...of) => contentKeys!.get(...of) };
  const playables: Pick<PlayableFinder, 'find' | 'findAdditional' | 'forget' | 'expireAll'> = {
    find: (...of) => finder!.find(...of),
    findAdditional: (...of) => finder!.findAdditional(...of),
    forget: (id) => finder!.forget(id),
    expireAll: () => finder!.expireAll(),
  };
  const deferredAccess: Pick<
    AccessCheck,
    | ('check' | 'checkChild')
    | ('forgetSigningKey' | 'forgetPlaybackRestriction' | 'forgetPublicRestriction' | 'expireAll')
  > = {
    check: (...of) => access!.check(...of),
    checkChild: (...of) => access!.checkChild(...of),
    forgetSigningKey: (id) => access!.forgetSigningKey(id),
    forgetPlaybackRestriction: (id) => access!.forgetPlaybackRestriction(id),
    forgetPublicRestriction: (id) => access!.forgetPublicRestriction(id),
    expireAll: () => access!.expireAll(),
  };
  const api = await startApi({
    ...options,
    streamPlugin: async (scope) => {
      const opener = new PlaybackOpener(playables, deferredAccess, limits);
      const count = (sent: Parameters<DeliveryCounter['count']>[0]) => deliveries!.count(sent);
      await scope.register(
        streamRoutes({
          logger,
          opener,
          playables,
          access: deferredAccess,
          producer,
          texts: new TextTracks(blobs, createTextParser()),
          openRendition: (...of) => openRendition!(...of),
          deliveries: { count },
          contentKeys: deferredKeys,
          isTracking: false,
        }),
      );
      await scope.register(
        licenseRoutes({ playables, access: deferredAccess, contentKeys: deferredKeys, services, budgets: limits }),
      );
      await scope.register(imageRoutes({ opener, images }));
    },
    onSigningKeyDeleted: deferredAccess.forgetSigningKey,
    onPlaybackRestrictionChanged: deferredAccess.forgetPlaybackRestriction,
    onPublicRestrictionChanged: deferredAccess.forgetPublicRestriction,
    onBudgetChanged: () => void budgets?.refresh(),
  });
  const installationSecret = await getInstallationSecret(api.database.queryable);
  access = new AccessCheck({
    childSecret: installationSecret,
    rows: accessRowsOf(api.database),
    clock: api.clock,
    riskyUserAgents: ['curl', 'lavf'],
  });
  contentKeys = new ContentKeys({ database: api.database, installationSecret, services });
  const renditions = new RenditionOpener({ database: api.database, blobs, clock: api.clock });
  openRendition = (...of) => renditions.open(...of);
  finder = new PlayableFinder({
    ...{ database: api.database, clock: api.clock, early: earlySources, feeds },
    maxBytes: 2 ** 24,
    av1After: av1After,
  });
  deliveries = new DeliveryCounter({ database: api.database, clock: api.clock, logger, writeMs: 100 });
  budgets = new BudgetLimits({
    read: (now) => reportBudgets({ database: api.database, clock: api.clock, wire: wireFormat }, now),
    clock: api.clock,
    logger,
    readMs: 100,
  });
  const db = api.database.queryable;
  const drmConfigurationId = await createDrmConfiguration(
    api.database,
    { name: 'local', keySource: 'local', settings: { clearKey: true, licenses: {}, allowPrivate: false } },
    systemClock,
  );

  return {
    ...api,
    /** Of the cache and the media processes; `requestLog` is that of the routes. */
    logger,
    requestLog: api.logger,
    blobs,
    cacheDir,
    store: cache,
    segments: producer,
    pool,
    playables,
    /** Makes a ready asset of a planned file, or one without a plan in another state. */
    async addAsset(
      source: { path: string; plan: Plan } | { status: 'preparing' | 'errored' },
      title?: string,
    ): Promise<PreparedAsset> {
      const assetId = newId();
      const environment = await db.selectFrom('environment').select('id').executeTakeFirstOrThrow();
      const plan = 'plan' in source ? source.plan : null;
      await db
        .insertInto('asset')
        .values({
          id: assetId,
          environment_id: environment.id,
          status: 'status' in source ? source.status : 'ready',
          ingest_type: 'on_demand_url',
          video_quality: 'basic',
          max_resolution_tier: '1080p',
          mp4_support: 'none',
          master_access: 'none',
          normalize_audio: false,
          is_test: false,
          meta: title === undefined ? null : JSON.stringify({ title }),
        })
        .execute();
      await db
        .insertInto('asset_media')
        .values({ asset_id: assetId, plan: JSON.stringify(plan) })
        .execute();
      if ('plan' in source) {
        const blob = await blobs.resumeWrite(sourceKey(assetId));
        for await (const chunk of createReadStream(source.path)) await blob.write(chunk);
        await blob.commit();
        const track = (type: 'video' | 'audio') => ({
          id: newId(),
          asset_id: assetId,
          type,
          status: 'ready',
          is_primary: true,
        });
        await insertTracks(db, [...(plan?.video ? [track('video')] : []), ...(plan?.audio ? [track('audio')] : [])]);
      }
      const ids = { publicId: newId(), signedId: newId(), drmId: newId() };
      await db
        .insertInto('playback_id')
        .values([
          { id: ids.publicId, asset_id: assetId, environment_id: environment.id, policy: 'public' },
          { id: ids.signedId, asset_id: assetId, environment_id: environment.id, policy: 'signed' },
          {
            id: ids.drmId,
            asset_id: assetId,
            environment_id: environment.id,
            policy: 'drm',
            drm_configuration_id: drmConfigurationId,
          },
        ])
        .execute();
      return { assetId, ...ids };
    },
    /** A DRM playback id of an asset, with a configuration of its own. */
    async addDrmId(assetId: string, keySource: 'local' | 'static' | 'cpix', settings: DrmSettings): Promise<string> {
      const id = newId();
      const fields = { name: 'test', keySource, settings };
      const configuration = await createDrmConfiguration(api.database, fields, systemClock);
      const environment = await db.selectFrom('environment').select('id').executeTakeFirstOrThrow();
      await db
        .insertInto('playback_id')
        .values({
          id,
          asset_id: assetId,
          environment_id: environment.id,
          policy: 'drm',
          drm_configuration_id: configuration,
        })
        .execute();
      return id;
    },
    async stop() {
      await deliveries!.stop();
      await budgets!.stop();
      await api.stop();
      producer.stop();
      await cache.stop();
      await pool.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
};

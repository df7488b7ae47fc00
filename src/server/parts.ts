import type { FastifyPluginAsync } from 'fastify';
import type { SegmentStore } from '../cache/segment-store.js';
import type { Config } from '../config/options.js';
import type { AudienceStats } from '../control/server-figures.js';
import type { Database } from '../db/database.js';
import type { AssetHook, DomainContext } from '../domain/context.js';
import type { ContentKeys } from '../domain/drm/content-keys.js';
import type { AccessCheck } from '../domain/playback/access-check.js';
import type { PlayableFinder } from '../domain/playback/playable-finder.js';
import type { RenditionOpener } from '../domain/renditions/open-rendition.js';
import type { BudgetLimits } from '../domain/usage/budget-limits.js';
import type { WatchedVideo } from '../domain/usage/engagement-spots.js';
import type { EarlySources } from '../early/sources.js';
import type { ApiExtension } from '../http/plugins/operation-route.js';
import type { HourlyWork } from '../jobs/hourly-work.js';
import type { CaptionsWork } from '../jobs/recognize-speech.js';
import type { Clock } from '../lib/clock.js';
import type { LiveServer } from '../live/live-server.js';
import type { ServiceCaller } from '../net/call-service.js';
import type { ChatClientOptions } from '../net/chat-client.js';
import type { WebhookSender } from '../net/send-webhook.js';
import type { SourceClientOptions } from '../net/source-client.js';
import type { ImageProducer } from '../packager/image-producer.js';
import type { SegmentProducer } from '../packager/segment-producer.js';
import type { TextTracks } from '../packager/text-tracks.js';
import type { MediaPool, MediaPoolOptions } from '../pool/media-pool.js';
import type { QueueWorker } from '../queue/queue.js';
import type { Transcriber } from '../speech/transcriber.js';
import type { LinkedSources, RangeBlobStore } from '../storage/blob-store.js';
import type { DiskSpace } from '../storage/disk/disk-space.js';
import type { Logger } from '../telemetry/logger.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { UploadSessions } from '../uploads/upload-sessions.js';
import type { Phases } from './phases.js';
import type { Nodes } from './start-nodes.js';

/** What every step of the startup works with. */
export interface Base {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly phases: Phases;
  readonly resolve?: SourceClientOptions['resolve'];
  readonly mediaProcesses?: Pick<MediaPoolOptions, 'entryUrl' | 'deadlinesMs'>;
  /** Undefined in a test of a server without robots. */
  readonly robots: Room | undefined;
  readonly chat?: Pick<ChatClientOptions, 'limitMs' | 'retryDelayMs'>;
}

/**
 * What a room that the rest works without adds to the server. An interface, so that the server
 * compiles without it.
 */
export interface Room {
  readonly assetHook: AssetHook;
  connect(
    base: Base,
    parts: Omit<Parts, 'robots'>,
  ): {
    readonly apiExtension: ApiExtension;
    /** Below the stream URL. */
    readonly fileRoutes: FastifyPluginAsync;
    readonly workers: readonly QueueWorker[];
    readonly captions: CaptionsWork;
    readonly purge: HourlyWork;
  };
}

/** What the server needs of the audience: who watched, how well it played. */
interface Audience {
  readonly apiExtension: ApiExtension;
  /** Below the stream URL. */
  readonly fileRoutes: FastifyPluginAsync;
  readStats(from: Date): Promise<AudienceStats>;
  /** What players report. */
  readonly collectorRoute: FastifyPluginAsync;
  /** Adds views that have ended to the roll-ups. */
  readonly sums: Pick<HourlyWork, 'start' | 'stop'>;
  readonly purge: HourlyWork;
  /** What viewers played of an asset; undefined when no view of it is known. */
  findWatched(asset: { readonly id: string; readonly environment_id: string }): Promise<WatchedVideo | undefined>;
}

/** Files, the cache and the media processes. */
export interface MediaParts {
  readonly blobs: RangeBlobStore;
  /** Present when `KINORA_SOURCE_BUCKETS` is set. */
  readonly linked?: LinkedSources;
  readonly diskSpace: DiskSpace;
  readonly cache: SegmentStore;
  readonly pool: MediaPool;
  readonly temporaryDir: string;
}

/** Everything that requests and jobs use. */
export interface Parts extends MediaParts {
  readonly database: Database;
  readonly context: DomainContext;
  readonly producer: SegmentProducer;
  readonly images: ImageProducer;
  readonly earlySources: EarlySources;
  readonly texts: TextTracks;
  readonly playables: PlayableFinder;
  readonly renditions: RenditionOpener;
  readonly access: AccessCheck;
  readonly budgets: BudgetLimits;
  readonly contentKeys: ContentKeys;
  readonly services: ServiceCaller;
  readonly transcriber: Transcriber | undefined;
  readonly webhookSender: WebhookSender;
  readonly uploadSessions: UploadSessions;
  readonly live: LiveServer;
  readonly installationSecret: string;
  /** Undefined when this is the only server. */
  readonly nodes: Nodes | undefined;
  readonly robots: ReturnType<Room['connect']> | undefined;
  readonly audience: Audience;
}

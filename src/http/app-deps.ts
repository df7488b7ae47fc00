import type { FastifyPluginAsync } from 'fastify';
import type { DomainContext } from '../domain/context.js';
import type { WhipIngest } from '../domain/live/whip-ingest.js';
import type { TextStore } from '../domain/tracks/stored-text.js';
import type { WebhookSender } from '../net/send-webhook.js';
import type { Logger } from '../telemetry/logger.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { Owners } from './internal/proxy-to-owner.js';
import type { Checks, Tolerances } from './ops/health.js';
import type { ApiExtension } from './plugins/operation-route.js';
import type { RateLimits } from './plugins/rate-limit.js';
import type { UploadDeps } from './video/uploads.js';

/** What the HTTP side needs from the composition root. */
export interface AppDeps extends DomainContext {
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly rateLimits?: RateLimits;
  /** Whether a request with unknown fields is rejected; it gets a warning otherwise. */
  readonly strictFields?: boolean;
  /** The proxies whose forwarded headers are trusted; none by default. */
  readonly trustedProxies?: boolean | readonly string[];
  readonly checks: Checks;
  /** Checks that may fail for a while because playback goes on. */
  readonly tolerances?: Tolerances;
  /**
   * Figures of the running server, for its administrators: versions, memory, cache, disk, media
   * processes.
   */
  readonly readFigures: () => Promise<object>;
  /** The name of the cookie of console sessions. */
  readonly sessionCookie: string;
  readonly webhookSender: WebhookSender;
  readonly uploads: UploadDeps;
  /** The text of text tracks, which the console edits. */
  readonly texts: TextStore;
  /** The directory of the built console; the one of this build when absent. */
  readonly consoleDir?: string;
  /** Configured URLs that differ from the API's. */
  readonly streamUrl?: string;
  readonly imageUrl?: string;
  /** The host that receives reports of views, if it is not that of playback URLs. */
  readonly dataHost?: string;
  /**
   * Where encoders send live streams, RTMPS first; empty if this server receives none. `hostname`
   * is that of the request, for servers without a configured URL.
   */
  readonly ingestUrls: (hostname: string) => readonly string[];
  /** The same for SRT (`srt://host:port`); undefined if this server does not receive it. */
  readonly srtServer?: (hostname: string) => string | undefined;
  /** Absent: encoders can't send by WebRTC. */
  readonly whip?: WhipIngest | undefined;
  /** The other servers; absent when there are none. */
  readonly owners?: Owners | undefined;
  readonly apiExtensions?: readonly ApiExtension[];
  /** What this server answers; everything when absent. */
  readonly roles?: ReadonlySet<string>;
  /** Everything below `/:playbackId`. */
  readonly streamPlugin?: FastifyPluginAsync;
}

import type { FastifyPluginAsync } from 'fastify';
import type { DomainContext } from '../domain/context.js';
import type { Logger } from '../telemetry/logger.js';

/** What the HTTP side needs from the composition root. */
export interface AppDeps extends DomainContext {
  readonly logger: Logger;
  /** Readiness by name: each resolves while its part works and rejects otherwise. */
  readonly checks: Readonly<Record<string, () => Promise<unknown>>>;
  /** Everything below `/:playbackId`. */
  readonly streamPlugin?: FastifyPluginAsync;
}

import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import type { DomainContext } from '../../domain/context.js';
import type { ImageProducer } from '../../packager/image-producer.js';
import type { TextTracks } from '../../packager/text-tracks.js';
import type { MediaPool } from '../../pool/media-pool.js';
import type { BlobStore } from '../../storage/blob-store.js';
import type { Logger } from '../../telemetry/logger.js';
import type { Publish, RobotsJobState } from '../jobs/job-state.js';
import type { ModelAsker } from './ask-model.js';

export interface RobotsDeps {
  readonly context: DomainContext;
  readonly state: RobotsJobState;
  readonly blobs: BlobStore;
  readonly texts: TextTracks;
  readonly images: ImageProducer;
  readonly pool: MediaPool;
  readonly model: ModelAsker;
  readonly logger: Logger;
}

/** What a workflow works with. */
export interface WorkflowRun extends RobotsDeps {
  readonly job: Row<'robots_job'>;
  readonly asset: Row<'asset'>;
  readonly signal: AbortSignal;
  /**
   * The result of a part of the work. It is stored until the job ends, so that a run after a restart does not repeat
   * the part; `name` matches `[a-z0-9-]`.
   */
  step<T>(name: string, make: () => Promise<T>): Promise<T>;
  /** Stores a file of the result under the name. */
  writeFile(name: string, bytes: Uint8Array): Promise<void>;
}

/** The end of a workflow: what becomes visible when the job ends, or what the job waits for. */
export type WorkflowEnd = { readonly publish: Publish } | { readonly waitUntil: (tx: Transaction) => Promise<boolean> };

export type Workflow = (run: WorkflowRun) => Promise<WorkflowEnd>;

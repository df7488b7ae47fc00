import { json } from 'node:stream/consumers';
import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import type { DomainContext } from '../../domain/context.js';
import type { WatchedVideo } from '../../domain/usage/engagement-spots.js';
import type { ImageProducer } from '../../packager/image-producer.js';
import type { TextTracks } from '../../packager/text-tracks.js';
import type { MediaPool } from '../../pool/media-pool.js';
import type { BlobStore } from '../../storage/blob-store.js';
import { resultKey, stepKey } from '../jobs/job-files.js';
import type { Publish, RobotsJobState } from '../jobs/job-state.js';
import type { ModelAsker } from './model-asker.js';

/** What viewers played of an asset; undefined when no view of it is known. */
export type FindWatched = (asset: Pick<Row<'asset'>, 'id' | 'environment_id'>) => Promise<WatchedVideo | undefined>;

export interface WorkflowDeps {
  readonly context: DomainContext;
  readonly state: RobotsJobState;
  readonly blobs: BlobStore;
  readonly texts: TextTracks;
  readonly images: ImageProducer;
  readonly pool: MediaPool;
  readonly model: ModelAsker;
  readonly findWatched: FindWatched;
}

/** One run of a workflow, and what it works with. */
export class WorkflowRun {
  readonly context: DomainContext;
  readonly state: RobotsJobState;
  readonly blobs: BlobStore;
  readonly texts: TextTracks;
  readonly images: ImageProducer;
  readonly pool: MediaPool;
  readonly model: ModelAsker;
  readonly findWatched: FindWatched;

  constructor(
    deps: WorkflowDeps,
    readonly job: Row<'robots_job'>,
    readonly asset: Row<'asset'>,
    readonly signal: AbortSignal,
  ) {
    this.context = deps.context;
    this.state = deps.state;
    this.blobs = deps.blobs;
    this.texts = deps.texts;
    this.images = deps.images;
    this.pool = deps.pool;
    this.model = deps.model;
    this.findWatched = deps.findWatched;
  }

  /**
   * The result of a part of the work. It is stored until the job ends, so that a run after a
   * restart does not repeat the part; `name` matches `[a-z0-9-]`.
   */
  async step<T>(name: string, run: () => Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    const key = stepKey(this.asset.id, this.job.id, name);
    const stored = await this.blobs.read(key);
    if (stored) return (await json(stored)) as T;
    const result = await run();
    await this.blobs.put(key, Buffer.from(JSON.stringify(result)));
    return result;
  }

  /** Stores a file of the result under the name. */
  async writeFile(name: string, bytes: Uint8Array): Promise<void> {
    await this.blobs.put(resultKey(this.asset.id, this.job.id, name), bytes);
  }
}

/** The end of a workflow: what becomes visible when the job ends, or what the job waits for. */
export type WorkflowEnd = { readonly publish: Publish } | { readonly waitUntil: (tx: Transaction) => Promise<boolean> };

export type Workflow = (run: WorkflowRun) => Promise<WorkflowEnd>;

import type { Row } from '../../db/schema.js';
import { queues } from '../../domain/queues.js';
import { causeChain } from '../../lib/cause-chain.js';
import { failureFields } from '../../lib/failure-fields.js';
import { createLimiter } from '../../lib/limiter.js';
import { mediaPriority } from '../../pool/media-pool.js';
import type { Job, JobContext, Queue, QueueWorker } from '../../queue/queue.js';
import { assetPrefix, sourceKey } from '../../storage/keys.js';
import { removeAssetFiles } from '../purge.js';
import type { IngestDeps } from './context.js';
import { boundFailure } from './file/bound-failure.js';
import { LongWorkAhead } from './long-work.js';
import { runIngest } from './run.js';

interface IngestPayload {
  readonly assetId: string;
}

/**
 * The number of concurrent downloads. They mostly wait for other servers, and a slow one must not
 * prevent others from being prepared.
 */
const MAX_DOWNLOADS = 32;

/** Workers of the queues `ingest` and `transcode`; long work moves from the first to the second. */
export const createIngestWorkers = (
  deps: Omit<IngestDeps, 'queue' | 'limit'>,
  queue: Pick<Queue, 'enqueue'>,
  concurrency: number,
): QueueWorker[] => [
  createWorker({ ...deps, queue: queues.ingest, limit: createLimiter(concurrency) }, queue, MAX_DOWNLOADS),
  createWorker(
    { ...deps, queue: queues.transcode, limit: (_signal, task) => task(), pool: inBackground(deps.pool) },
    queue,
    concurrency,
  ),
];

/** The same processes, with a lower priority than every other ingest. */
const inBackground = (pool: IngestDeps['pool']): IngestDeps['pool'] => ({
  run: (job, options) => pool.run(job, { ...options, priority: mediaPriority.background }),
  prepare: () => pool.prepare(),
});

/** The recording of a live stream is ready before its ingest. */
const isUnfinished = ({ status, progress_state: state }: Row<'asset'>): boolean =>
  (status === 'preparing' && state !== 'live') ||
  (status === 'ready' && (state === 'ingesting' || state === 'transcoding'));

const createWorker = (deps: IngestDeps, queue: Pick<Queue, 'enqueue'>, concurrency: number): QueueWorker => ({
  queue: deps.queue,
  concurrency,
  handler: async (job: Job<IngestPayload>, { signal }: JobContext) => {
    const { assetId } = job.payload;
    const logger = deps.logger.child({ asset_id: assetId, job_id: job.id });
    try {
      const row = await deps.state.find(assetId);
      if (row && isUnfinished(row.asset)) await runIngest({ ...deps, logger, signal, assetId, row });
    } catch (error) {
      if (!(await deps.state.find(assetId))) {
        // Deleted in the meantime: remove what this run wrote after the purge.
        await removeAssetFiles(deps, assetId);
        return;
      }
      if (!(error instanceof LongWorkAhead)) throw await boundFailure(error, () => deps.state.countCrash(assetId));
      await queue.enqueue(queues.transcode, { assetId });
    }
  },
  onFailed: async (job: Job<IngestPayload>, error) => {
    deps.logger.warn({ asset_id: job.payload.assetId, job_id: job.id, ...failureFields(error) }, 'ingest failed');
    const stored = await deps.blobs.stat(sourceKey(job.payload.assetId));
    await deps.state.fail(job.payload.assetId, error, {
      jobId: job.id,
      hasSource: stored !== undefined,
      detail: causeChain(error),
    });
    await deps.blobs.discardUnfinished(assetPrefix(job.payload.assetId));
  },
});

import type { Transaction } from '../../db/database.js';
import type { RobotsJobError, RobotsJobStatus, Row } from '../../db/schema.js';
import { findAssetById, lockAssetForUpdate } from '../../db/tables/assets/asset.js';
import { lockShots } from '../../db/tables/assets/shots.js';
import type { DomainContext } from '../../domain/context.js';
import { queues } from '../../domain/queues.js';
import { isKinoraError } from '../../lib/errors.js';
import { robotsQueues } from '../queues.js';
import {
  addPrompt,
  findRobotsJobById,
  listActiveJobsOfAsset,
  lockRobotsJob,
  markJobWaiting,
  updateRobotsJob,
} from '../tables/robots-job.js';
import { recordJobEvent } from './robots-events.js';
import { wakeRuns } from './wake-runs.js';

type Job = Row<'robots_job'>;
type Context = Pick<DomainContext, 'clock' | 'queue' | 'artifactUrls' | 'apiUrl'>;

export interface JobResult {
  readonly outputs: object;
  /** Outputs that are signed URLs: file names by field. */
  readonly files?: Readonly<Record<string, string>>;
}

/** What becomes visible of a result together with the end of its job. */
export type Publish = (locked: { tx: Transaction; job: Job; asset: Row<'asset'> }) => Promise<JobResult>;

/** What workers read and write of a job. Changes to a job that has ended do nothing. */
export class RobotsJobState {
  constructor(private readonly context: DomainContext) {}

  /** Sets the status `processing`; undefined when the job has ended or is unknown. */
  start(jobId: string): Promise<{ job: Job; asset: Row<'asset'> } | undefined> {
    return this.context.database.transaction(async (tx) => {
      const jobRow = await findRobotsJobById(tx, jobId);
      const asset = jobRow && (await findAssetById(tx, jobRow.asset_id));
      if (!asset) return undefined;
      const started = await changeJob(this.context, tx, jobId, ['pending'], { status: 'processing' });
      const job = started ?? (await findRobotsJobById(tx, jobId));
      return job?.status === 'processing' ? { job, asset } : undefined;
    });
  }

  /** The job while it is being processed; undefined when it has ended or is unknown. */
  async findProcessing(jobId: string): Promise<Job | undefined> {
    const job = await findRobotsJobById(this.context.database.queryable, jobId);
    return job?.status === 'processing' ? job : undefined;
  }

  /** Records which version of a prompt the job has used. */
  notePrompt(jobId: string, name: string, version: number): Promise<void> {
    return addPrompt(this.context.database.queryable, jobId, { [name]: version });
  }

  /**
   * Suspends the job until a track or the shots of its asset end. Returns false, without waiting,
   * when `isDone` says that there is nothing left to wait for.
   */
  wait(jobId: string, isDone: (tx: Transaction) => Promise<boolean>): Promise<boolean> {
    return this.context.database.transaction(async (tx) => {
      const job = await findRobotsJobById(tx, jobId);
      // Tracks change under this lock, shots under their own.
      const asset = job && (await lockAssetForUpdate(tx, job.environment_id, job.asset_id));
      if (asset) await lockShots(tx, asset.id);
      if (asset && (await isDone(tx))) return false;
      await markJobWaiting(tx, jobId);
      return true;
    });
  }

  /** Resumes a job that waits for something of its own. */
  wake(jobId: string): Promise<void> {
    return this.context.database.transaction(async (tx) => {
      const job = await findRobotsJobById(tx, jobId);
      // Jobs begin to wait under this lock.
      const asset = job && (await lockAssetForUpdate(tx, job.environment_id, job.asset_id));
      if (asset) await wakeRuns(this.context, tx, asset.id);
    });
  }

  /**
   * Stores the effects of the result and the end of the job in one transaction. False when it had
   * ended.
   */
  async complete(jobId: string, publish: Publish): Promise<boolean> {
    const assetId = await this.context.database.transaction(async (tx) => {
      const jobRow = await findRobotsJobById(tx, jobId);
      // Locks the asset first, like all transactions that also change its tracks.
      const asset = jobRow && (await lockAssetForUpdate(tx, jobRow.environment_id, jobRow.asset_id));
      const job = asset && (await lockRobotsJob(tx, jobId));
      if (!asset || job?.status !== 'processing') return undefined;
      const { outputs, files } = await publish({ tx, job, asset });
      await changeJob(this.context, tx, jobId, ['processing'], {
        status: 'completed',
        outputs: JSON.stringify(outputs),
        files: files ? JSON.stringify(files) : null,
      });
      return asset.id;
    });
    if (assetId !== undefined) this.context.onPlayableChanged(assetId);
    return assetId !== undefined;
  }

  async fail(jobId: string, error: unknown): Promise<void> {
    const change = { status: 'errored', error: JSON.stringify(jobError(error)) } as const;
    await this.context.database.transaction((tx) =>
      changeJob(this.context, tx, jobId, ['pending', 'processing'], change),
    );
  }
}

/**
 * Changes the status of a job, records the event and lets its run continue; undefined when the job
 * is in none of the states `from`.
 */
export const changeJob = async (
  context: Context,
  tx: Transaction,
  jobId: string,
  from: readonly RobotsJobStatus[],
  change: Omit<Parameters<typeof updateRobotsJob>[3], 'updated_at'>,
): Promise<Job | undefined> => {
  const job = await updateRobotsJob(tx, jobId, from, { ...change, updated_at: context.clock.now() });
  if (!job) return undefined;
  await recordJobEvent(context, tx, job);
  if (job.run_id !== null && job.status !== 'processing') await wakeRuns(context, tx, job.asset_id);
  return job;
};

/** Cancels the queued work of a job that ends. */
export const cancelJobWork = async (
  { queue }: Pick<DomainContext, 'queue'>,
  tx: Transaction,
  jobId: string,
): Promise<void> => {
  for (const name of [robotsQueues.runWorkflow, queues.recognizeSpeech]) await queue.cancel(name, jobId, tx);
};

/** Ends the jobs of an asset that is being deleted. Call it while the asset still exists. */
export const failJobsOfAsset = async (context: Context, tx: Transaction, assetId: string): Promise<void> => {
  const error: RobotsJobError = { type: 'not_found', message: 'The asset was deleted.', retryable: false };
  for (const { id } of await listActiveJobsOfAsset(tx, assetId)) {
    await cancelJobWork(context, tx, id);
    await changeJob(context, tx, id, ['pending', 'processing'], { status: 'errored', error: JSON.stringify(error) });
  }
  await wakeRuns(context, tx, assetId);
};

const RETRYABLE: readonly string[] = ['provider_failed', 'unavailable', 'media_crashed', 'internal_error'];
/** Their messages were written for the caller. */
const SHOWN: readonly string[] = ['provider_unavailable', 'provider_failed', 'invalid_input', 'invalid_parameters'];

const jobError = (error: unknown): RobotsJobError => {
  if (isKinoraError(error, 'speech_failed'))
    return { type: 'provider_error', message: error.message, retryable: error.failure !== 'fail' };
  if (!isKinoraError(error) || !SHOWN.includes(error.code))
    return { type: 'internal_error', message: 'The job could not be processed.', retryable: true };
  return { type: error.type, message: error.message, retryable: RETRYABLE.includes(error.code) };
};

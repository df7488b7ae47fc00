import type { Queryable, Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { lockAssetForUpdate } from '../../db/tables/assets/asset.js';
import {
  findRenditionWork,
  listStaticRenditions,
  type RenditionWork,
  updatePreparingRendition,
} from '../../db/tables/assets/static-rendition.js';
import { isKinoraError } from '../../lib/errors.js';
import { videoTier } from '../../media/plan/asset-properties.js';
import type { Size } from '../../media/plan/ladder.js';
import type { DomainContext } from '../context.js';
import { endMp4Support, settleMp4Support } from './mp4-support.js';
import { recordRenditionEvent } from './static-renditions.js';

/** A file that is stored. */
export interface MadeFile {
  readonly sizeBytes: number;
  readonly durationSeconds: number;
  /** Absent for audio only. */
  readonly frame?: Size;
}

type Context = Pick<DomainContext, 'database' | 'clock' | 'wire' | 'queue' | 'artifactUrls'>;
type Change = Parameters<typeof updatePreparingRendition>[2];

/**
 * What the job that makes files reads and writes. Writes after deletion or after a final status do
 * nothing; events for webhooks are recorded with each change.
 */
export class RenditionState {
  readonly #context: Context;
  readonly #db: Queryable;

  constructor(context: Context) {
    this.#context = context;
    this.#db = context.database.queryable;
  }

  /** Undefined when the rendition was deleted. */
  find(renditionId: string): Promise<RenditionWork | undefined> {
    return findRenditionWork(this.#db, renditionId);
  }

  /** `progress` is 0 to 1. False when the rendition has been deleted in the meantime. */
  async saveProgress(renditionId: string, progress: number): Promise<boolean> {
    return (await updatePreparingRendition(this.#db, renditionId, { progress })) !== undefined;
  }

  complete(renditionId: string, { sizeBytes, durationSeconds, frame }: MadeFile): Promise<void> {
    return this.#finish(renditionId, 'ready', {
      progress: 1,
      width: frame?.width ?? null,
      height: frame?.height ?? null,
      bitrate: Math.floor((sizeBytes * 8) / durationSeconds),
      size_bytes: sizeBytes,
      resolution_tier: frame ? videoTier(frame.width, frame.height) : 'audio-only',
    });
  }

  /** It can't be made from this asset. */
  skip(renditionId: string): Promise<void> {
    return this.#finish(renditionId, 'skipped');
  }

  fail(renditionId: string, error: unknown): Promise<void> {
    return this.#finish(renditionId, 'errored', { error: JSON.stringify(renditionError(error)) });
  }

  async #finish(renditionId: string, status: 'ready' | 'skipped' | 'errored', change: Change = {}): Promise<void> {
    const context = this.#context;
    const task = await findRenditionWork(this.#db, renditionId);
    if (!task) return;
    const { id: assetId, environment_id: environmentId } = task.asset;
    await context.database.transaction(async (tx) => {
      // All transactions that change both take the locks in this order. Of several files that end
      // at the same time, one sees that it is the last.
      if (!(await lockAssetForUpdate(tx, environmentId, assetId))) return;
      const rendition = await updatePreparingRendition(tx, renditionId, { ...change, status });
      if (!rendition) return;
      if (rendition.resolution === null) await settleMp4Support(context, tx, assetId);
      else await recordRenditionEvent(context, tx, environmentId, status, rendition);
    });
  }
}

/** The `error` object of events about a rendition. */
const renditionError = (error: unknown): { type: string; messages: string[] } => {
  const messages = ['The static rendition could not be created.'];
  if (isKinoraError(error, 'media_crashed')) messages.push('The media process crashed or did not finish on this file.');
  return { type: 'internal_error', messages };
};

/**
 * An asset that fails has no files. Call it in the transaction in which the ingest fails, after
 * that event.
 */
export const failRenditions = async (
  context: Pick<DomainContext, 'clock' | 'wire' | 'queue' | 'artifactUrls'>,
  tx: Transaction,
  asset: Pick<Row<'asset'>, 'id' | 'environment_id' | 'mp4_support' | 'error'>,
): Promise<void> => {
  if (asset.mp4_support !== 'none') await endMp4Support(context, tx, asset.id, 'errored');
  const error = asset.error && JSON.stringify(asset.error);
  for (const { id } of await listStaticRenditions(tx, [asset.id])) {
    const rendition = await updatePreparingRendition(tx, id, { status: 'errored', error });
    if (rendition) await recordRenditionEvent(context, tx, asset.environment_id, 'errored', rendition);
  }
};

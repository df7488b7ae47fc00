import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { lockAssetForUpdate } from '../../db/tables/assets/asset.js';
import {
  insertStaticRendition,
  listStaticRenditions,
  removeStaticRendition,
} from '../../db/tables/assets/static-rendition.js';
import { invalidParameters, KinoraError } from '../../lib/errors.js';
import { isId, newId } from '../../lib/ids.js';
import { renditionFileName } from '../../media/plan/static-rendition.js';
import type { RenditionRecord } from '../asset-view/asset-view.js';
import type { DomainContext } from '../context.js';
import { recordEvent } from '../events/record-event.js';
import { queues } from '../queues.js';
import type { NewStaticRendition } from '../requests/asset-request.js';

export interface RenditionJob {
  readonly assetId: string;
  readonly renditionId: string;
}

type Rendition = Row<'static_rendition'>;

/**
 * Creates the rows of a request in its order; their files are made when the asset is ready.
 * Imported ones keep their IDs.
 */
export const insertRequestedRenditions = async (
  context: Pick<DomainContext, 'clock'>,
  tx: Transaction,
  assetId: string,
  requested: readonly (NewStaticRendition & { readonly id?: string })[],
): Promise<Rendition[]> => {
  const inserted: Rendition[] = [];
  for (const { resolution, passthrough, id = newId() } of requested) {
    const row = {
      id,
      asset_id: assetId,
      created_at: context.clock.now(),
      ...renditionFileName(resolution),
      resolution,
      passthrough: passthrough || null,
      error: null,
    };
    inserted.push(await insertStaticRendition(tx, row));
  }
  return inserted;
};

/**
 * Adds a file to an asset in any state but errored; it may replace a failed one.
 * @throws KinoraError `not_found`, `invalid_parameters`
 */
export const createStaticRendition = async (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  request: NewStaticRendition,
): Promise<RenditionRecord> =>
  context.database.transaction(async (tx) => {
    const asset = await lockAssetForUpdate(tx, environmentId, assetId);
    if (!asset) throw new KinoraError('not_found');
    if (asset.status === 'errored') throw invalidParameters('Asset is in an errored state');
    if (asset.mp4_support !== 'none')
      throw invalidParameters('mp4_support and static_renditions cannot be used together');
    const { resolution } = request;
    const present = (await listStaticRenditions(tx, [assetId])).find((other) => other.resolution === resolution);
    if (present && present.status !== 'errored')
      throw invalidParameters(`A static rendition with resolution ${resolution} already exists`);
    if (present) await dropRendition(context, tx, present);
    const [rendition] = await insertRequestedRenditions(context, tx, assetId, [request]);
    await recordRenditionEvent(context, tx, environmentId, 'created', rendition!);
    if (asset.status === 'ready') await orderFile(context, tx, rendition!);
    return rendition!;
  });

/**
 * Its URL stops working immediately; the file is removed in the background.
 * @throws KinoraError `not_found`
 */
export const deleteStaticRendition = async (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  renditionId: string,
): Promise<void> => {
  if (!isId(assetId) || !isId(renditionId)) throw new KinoraError('not_found');
  await context.database.transaction(async (tx) => {
    if (!(await lockAssetForUpdate(tx, environmentId, assetId))) throw new KinoraError('not_found');
    const renditions = await listStaticRenditions(tx, [assetId]);
    // The IDs of `mp4_support` files are never published.
    const rendition = renditions.find(({ id, resolution }) => id === renditionId && resolution !== null);
    if (!rendition) throw new KinoraError('not_found');
    await recordRenditionEvent(context, tx, environmentId, 'deleted', rendition);
    await dropRendition(context, tx, rendition);
  });
};

/** Orders the files that were requested before the asset was ready. */
export const orderFiles = async (
  context: Pick<DomainContext, 'queue'>,
  tx: Transaction,
  assetId: string,
): Promise<void> => {
  for (const rendition of await listStaticRenditions(tx, [assetId])) await orderFile(context, tx, rendition);
};

export const orderFile = async (
  { queue }: Pick<DomainContext, 'queue'>,
  tx: Transaction,
  { id: renditionId, asset_id: assetId }: Rendition,
): Promise<void> => {
  await queue.enqueue(queues.makeRendition, { assetId, renditionId }, {}, tx);
};

/** Removes the row, stops the work on its file, and removes the file in the background. */
export const dropRendition = async (
  { queue }: Pick<DomainContext, 'queue'>,
  tx: Transaction,
  { id: renditionId, asset_id: assetId }: Rendition,
): Promise<void> => {
  await removeStaticRendition(tx, renditionId);
  await queue.cancel(queues.makeRendition, renditionId, tx);
  await queue.enqueue(queues.purgeRendition, { assetId, renditionId }, {}, tx);
};

/** `rendition` is its state as receivers see it. */
export const recordRenditionEvent = async (
  context: Pick<DomainContext, 'clock' | 'wire'>,
  tx: Transaction,
  environmentId: string,
  happened: 'created' | 'ready' | 'skipped' | 'errored' | 'deleted',
  rendition: RenditionRecord,
): Promise<void> => {
  await recordEvent(context, tx, {
    environmentId,
    type: `video.asset.static_rendition.${happened}`,
    object: { type: 'static-rendition', id: rendition.id },
    data: context.wire.renditionEvent(rendition),
  });
};

import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { findAssetView } from '../../db/tables/assets/asset-view.js';
import { insertEvent } from '../../db/tables/server/event.js';
import type { DomainContext } from '../context.js';
import type { EventType } from '../events/event-types.js';
import { makeEvent, recordEvent } from '../events/record-event.js';
import { toAssetView } from './get-asset.js';

/**
 * Records an event about an asset in its current state in the transaction. For a deletion, call it
 * before the row is removed.
 */
export const recordAssetEvent = async (
  context: Pick<DomainContext, 'clock' | 'wire' | 'artifactUrls'>,
  tx: Transaction,
  type: EventType,
  assetId: string,
): Promise<void> => {
  const row = await findAssetView(tx, assetId);
  if (!row) return;
  const object = { type: 'asset', id: assetId } as const;
  const data = context.wire.assetEvent(toAssetView(context, row));
  await insertEvent(tx, makeEvent(row.environment, { type, object, data }, context.clock.now()));
};

/** Records a problem that does not fail the asset. */
export const recordAssetWarning = async (
  context: Pick<DomainContext, 'clock' | 'wire'>,
  tx: Transaction,
  asset: Row<'asset'>,
  warning: { readonly type: string; readonly message: string },
): Promise<void> => {
  await recordEvent(context, tx, {
    environmentId: asset.environment_id,
    type: 'video.asset.warning',
    object: { type: 'asset', id: asset.id },
    data: context.wire.assetWarning(asset, warning),
  });
};

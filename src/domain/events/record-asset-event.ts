import { serializeAssetEvent } from '../../api/serialize-events.js';
import type { Transaction } from '../../db/database.js';
import { findAssetById } from '../../db/tables/asset.js';
import { viewAssets } from '../assets/get-asset.js';
import type { DomainContext } from '../context.js';
import type { EventType } from './event-types.js';
import { recordEvent } from './record-event.js';

/** Records an event about an asset as it now is in the transaction. Before a deletion: call it while the row is there. */
export const recordAssetEvent = async (
  context: Pick<DomainContext, 'clock'>,
  tx: Transaction,
  type: EventType,
  assetId: string,
): Promise<void> => {
  const row = await findAssetById(tx, assetId);
  if (!row) return;
  const [view] = await viewAssets(tx, [row]);
  const object = { type: 'asset', id: assetId } as const;
  await recordEvent(context, tx, { environmentId: row.environment_id, type, object, data: serializeAssetEvent(view!) });
};

import { serializeAssetEvent } from '../../api/serialize-events.js';
import { withoutNulls } from '../../api/wire.js';
import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { findAssetById } from '../../db/tables/asset.js';
import { viewAssets } from '../assets/get-asset.js';
import type { DomainContext } from '../context.js';
import type { EventType } from './event-types.js';
import { recordEvent } from './record-event.js';

/** Records an event about an asset as it now is in the transaction. Before a deletion: call it while the row is there. */
export const recordAssetEvent = async (
  context: Pick<DomainContext, 'clock' | 'artifactUrls'>,
  tx: Transaction,
  type: EventType,
  assetId: string,
): Promise<void> => {
  const row = await findAssetById(tx, assetId);
  if (!row) return;
  const [view] = await viewAssets(context, tx, [row]);
  const object = { type: 'asset', id: assetId } as const;
  await recordEvent(context, tx, { environmentId: row.environment_id, type, object, data: serializeAssetEvent(view!) });
};

/** Records a problem that the asset survives. */
export const recordAssetWarning = async (
  context: Pick<DomainContext, 'clock'>,
  tx: Transaction,
  asset: Row<'asset'>,
  warning: { readonly type: string; readonly message: string },
): Promise<void> => {
  const { id, status, passthrough, upload_id, source_asset_id, environment_id: environmentId } = asset;
  await recordEvent(context, tx, {
    environmentId,
    type: 'video.asset.warning',
    object: { type: 'asset', id },
    data: withoutNulls({ id, status, passthrough, upload_id, source_asset_id, warning }),
  });
};

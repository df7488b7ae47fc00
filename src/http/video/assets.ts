import { assetJson, serializeAsset } from '../../api/responses/asset.js';
import { serializeInput } from '../../api/responses/input-info.js';
import { validateCreateAsset } from '../../api/validate/create-asset.js';
import { encodeCursor, readListQuery } from '../../api/validate/list-query.js';
import { validateUpdateAsset } from '../../api/validate/update-asset.js';
import { getAsset, getInputInfo } from '../../domain/asset-view/get-asset.js';
import { createAsset } from '../../domain/assets/create-asset.js';
import { deleteAsset } from '../../domain/assets/delete-asset.js';
import { listAssets } from '../../domain/assets/list-assets.js';
import { deleteThumbnailTime, updateAsset } from '../../domain/assets/update-asset.js';
import type { DomainContext } from '../../domain/context.js';
import { lastOf } from '../../lib/last-of.js';
import { JsonText, type Route } from '../plugins/operation-route.js';

export const assetRoutes = (route: Route, context: DomainContext): void => {
  route('createAsset', async ({ caller, body, requestId }) => {
    const request = validateCreateAsset(body, caller.environment.defaultVideoQuality);
    return { data: serializeAsset(await createAsset(context, caller.environment.id, request, requestId)) };
  });

  route('listAssets', async ({ caller, query }) => {
    const filter = { uploadId: lastOf(query.upload_id), liveStreamId: lastOf(query.live_stream_id) };
    const page = await listAssets(context, caller.environment.id, readListQuery(query), filter);
    const cursor = JSON.stringify(page.next && encodeCursor(page.next));
    return new JsonText(`{"data":[${page.assets.map(assetJson).join(',')}],"next_cursor":${cursor}}`);
  });

  route('getAsset', async ({ caller, params }) => {
    const asset = await getAsset(context, caller.environment.id, params.assetId!);
    return new JsonText(`{"data":${assetJson(asset)}}`);
  });

  route('updateAsset', async ({ caller, params, body }) => {
    const { asset } = await getAsset(context, caller.environment.id, params.assetId!);
    const update = validateUpdateAsset(body ?? {});
    return { data: serializeAsset(await updateAsset(context, caller.environment.id, asset.id, update)) };
  });

  route('deleteThumbnailTime', async ({ caller, params }) => {
    await deleteThumbnailTime(context, caller.environment.id, params.assetId!);
    return undefined;
  });

  route('deleteAsset', async ({ caller, params }) => {
    await deleteAsset(context, caller.environment.id, params.assetId!);
    return undefined;
  });

  route('getInputInfo', async ({ caller, params }) => {
    const inputs = await getInputInfo(context, caller.environment.id, params.assetId!);
    return { data: inputs.map(serializeInput) };
  });
};

import { serializeAsset } from '../../api/responses/asset.js';
import { serializeShots } from '../../api/responses/shots.js';
import { validateMasterAccess } from '../../api/validate/master-access.js';
import { getAsset } from '../../domain/asset-view/get-asset.js';
import { setMasterAccess } from '../../domain/assets/master-access.js';
import { createShots, deleteShots, getShots } from '../../domain/assets/shots.js';
import type { DomainContext } from '../../domain/context.js';
import type { Route } from '../plugins/operation-route.js';

/** Files of an asset other than playback. */
export const masterAndShotsRoutes = (route: Route, context: DomainContext): void => {
  route('updateMasterAccess', async ({ caller, params, body }) => {
    const { asset } = await getAsset(context, caller.environment.id, params.assetId!);
    const access = validateMasterAccess(body ?? {});
    return { data: serializeAsset(await setMasterAccess(context, caller.environment.id, asset.id, access)) };
  });

  route('createShots', async ({ caller, params }) => ({
    data: serializeShots(await createShots(context, caller.environment.id, params.assetId!)),
  }));

  route('getShots', async ({ caller, params }) => ({
    data: serializeShots(await getShots(context, caller.environment.id, params.assetId!)),
  }));

  route('deleteShots', async ({ caller, params }) => {
    await deleteShots(context, caller.environment.id, params.assetId!);
    return undefined;
  });
};

import { serializeAsset } from '../../api/responses/asset.js';
import { serializeRendition } from '../../api/responses/static-rendition.js';
import { validateMp4Support, validateNewStaticRendition } from '../../api/validate/static-rendition.js';
import { getAsset } from '../../domain/asset-view/get-asset.js';
import type { DomainContext } from '../../domain/context.js';
import { updateMp4Support } from '../../domain/renditions/mp4-support.js';
import { createStaticRendition, deleteStaticRendition } from '../../domain/renditions/static-renditions.js';
import type { Route } from '../plugins/operation-route.js';

export const staticRenditionRoutes = (route: Route, context: DomainContext): void => {
  route('createStaticRendition', async ({ caller, params, body }) => {
    const { asset } = await getAsset(context, caller.environment.id, params.assetId!);
    const request = validateNewStaticRendition(body ?? {});
    return {
      data: serializeRendition(await createStaticRendition(context, caller.environment.id, asset.id, request)),
    };
  });

  route('deleteStaticRendition', async ({ caller, params }) => {
    await deleteStaticRendition(context, caller.environment.id, params.assetId!, params.renditionId!);
    return undefined;
  });

  route('updateMp4Support', async ({ caller, params, body }) => {
    const { asset } = await getAsset(context, caller.environment.id, params.assetId!);
    const support = validateMp4Support(body ?? {});
    return { data: serializeAsset(await updateMp4Support(context, caller.environment.id, asset.id, support)) };
  });
};

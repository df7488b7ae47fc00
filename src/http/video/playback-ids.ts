import { serializePlaybackId, serializePlaybackIdOwner } from '../../api/responses/playback-id.js';
import { validateNewPlaybackId } from '../../api/validate/playback-id.js';
import { getAsset } from '../../domain/asset-view/get-asset.js';
import type { DomainContext } from '../../domain/context.js';
import { createPlaybackId, deletePlaybackId, getPlaybackId } from '../../domain/playback/playback-ids.js';
import type { Route } from '../plugins/operation-route.js';

export const playbackIdRoutes = (route: Route, context: DomainContext): void => {
  route('createPlaybackId', async ({ caller, params, body }) => {
    const { asset } = await getAsset(context, caller.environment.id, params.assetId!);
    const request = validateNewPlaybackId(body ?? {}, asset.video_quality);
    return { data: serializePlaybackId(await createPlaybackId(context, caller.environment.id, asset.id, request)) };
  });

  route('getPlaybackId', async ({ caller, params }) => ({
    data: serializePlaybackId(await getPlaybackId(context, caller.environment.id, params.playbackId!, params.assetId)),
  }));

  route('deletePlaybackId', async ({ caller, params }) => {
    await deletePlaybackId(context, caller.environment.id, params.assetId!, params.playbackId!);
    return undefined;
  });

  route('findPlaybackIdOwner', async ({ caller, params }) => ({
    data: serializePlaybackIdOwner(await getPlaybackId(context, caller.environment.id, params.playbackId!)),
  }));
};

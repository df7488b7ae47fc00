import { serializeTrack } from '../../api/responses/track.js';
import { validateCreateTrack, validateGenerateSubtitles, validateUpdateTrack } from '../../api/validate/track.js';
import { getAsset } from '../../domain/asset-view/get-asset.js';
import type { DomainContext } from '../../domain/context.js';
import { createTrack } from '../../domain/tracks/create-track.js';
import { deleteTrack } from '../../domain/tracks/delete-track.js';
import { generateSubtitles } from '../../domain/tracks/generate-subtitles.js';
import { getTrack } from '../../domain/tracks/get-track.js';
import { updateTrack } from '../../domain/tracks/update-track.js';
import type { Route } from '../plugins/operation-route.js';

export const trackRoutes = (route: Route, context: DomainContext): void => {
  route('createTrack', async ({ caller, params, body }) => {
    const { asset } = await getAsset(context, caller.environment.id, params.assetId!);
    const request = validateCreateTrack(body ?? {});
    return { data: serializeTrack(await createTrack(context, caller.environment.id, asset.id, request)) };
  });

  route('updateTrack', async ({ caller, params, body }) => {
    const { id, type } = await getTrack(context, caller.environment.id, params.assetId!, params.trackId!);
    const update = validateUpdateTrack(body ?? {}, type);
    return { data: serializeTrack(await updateTrack(context, caller.environment.id, params.assetId!, id, update)) };
  });

  route('deleteTrack', async ({ caller, params }) => {
    await deleteTrack(context, caller.environment.id, params.assetId!, params.trackId!);
    return undefined;
  });

  route('generateSubtitles', async ({ caller, params, body }) => {
    const { id } = await getTrack(context, caller.environment.id, params.assetId!, params.trackId!);
    const entries = validateGenerateSubtitles(body ?? {});
    const tracks = await generateSubtitles(context, caller.environment.id, params.assetId!, id, entries);
    return { data: tracks.map(serializeTrack) };
  });
};

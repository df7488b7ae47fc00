import { serializeLiveStream, serializeSimulcastTarget } from '../../api/responses/live-stream.js';
import { serializePlaybackId } from '../../api/responses/playback-id.js';
import {
  readLiveStreamsQuery,
  validateCreateLiveStream,
  validateEmbeddedSubtitles,
  validateGeneratedSubtitles,
  validateLiveStaticRenditions,
  validateSimulcastTarget,
  validateUpdateLiveStream,
} from '../../api/validate/live-stream.js';
import { validateNewPlaybackId } from '../../api/validate/playback-id.js';
import type { DomainContext } from '../../domain/context.js';
import {
  completeLiveStream,
  deleteLiveStream,
  disableLiveStream,
  enableLiveStream,
} from '../../domain/live/change-status.js';
import { createLivePlaybackId, deleteLivePlaybackId, getLivePlaybackId } from '../../domain/live/live-playback-ids.js';
import {
  createLiveStream,
  getLiveStream,
  listLiveStreams,
  resetStreamKey,
  updateEmbeddedSubtitles,
  updateGeneratedSubtitles,
  updateLiveStaticRenditions,
  updateLiveStream,
} from '../../domain/live/live-streams.js';
import {
  createSimulcastTarget,
  deleteSimulcastTarget,
  getSimulcastTarget,
} from '../../domain/live/simulcast-targets.js';
import type { ApiRequest, Route } from '../plugins/operation-route.js';

/** A live stream is looked up before a body is validated, so that an unknown one is always 404. */
export const liveStreamRoutes = (route: Route, context: DomainContext): void => {
  const find = ({ caller, params }: ApiRequest) => getLiveStream(context, caller.environment.id, params.liveStreamId!);

  route('createLiveStream', async ({ caller, body }) => {
    const request = validateCreateLiveStream(body ?? {});
    return { data: serializeLiveStream(await createLiveStream(context, caller.environment.id, request)) };
  });

  route('listLiveStreams', async ({ caller, query }) => {
    const streams = await listLiveStreams(context, caller.environment.id, readLiveStreamsQuery(query));
    return { data: streams.map(serializeLiveStream) };
  });

  route('getLiveStream', async (request) => ({ data: serializeLiveStream(await find(request)) }));

  route('updateLiveStream', async (request) => {
    const { id, environment_id: environmentId } = await find(request);
    const update = validateUpdateLiveStream(request.body ?? {});
    return { data: serializeLiveStream(await updateLiveStream(context, environmentId, id, update)) };
  });

  route('deleteLiveStream', async ({ caller, params }) => {
    await deleteLiveStream(context, caller.environment.id, params.liveStreamId!);
    return undefined;
  });

  route('createLivePlaybackId', async (request) => {
    const { id, environment_id: environmentId } = await find(request);
    const entry = validateNewPlaybackId(request.body ?? {}, 'plus');
    return { data: serializePlaybackId(await createLivePlaybackId(context, environmentId, id, entry)) };
  });

  route('getLivePlaybackId', async ({ caller, params }) => {
    const { liveStreamId, playbackId } = params;
    return {
      data: serializePlaybackId(await getLivePlaybackId(context, caller.environment.id, liveStreamId!, playbackId!)),
    };
  });

  route('deleteLivePlaybackId', async ({ caller, params }) => {
    await deleteLivePlaybackId(context, caller.environment.id, params.liveStreamId!, params.playbackId!);
    return undefined;
  });

  route('resetStreamKey', async ({ caller, params }) => ({
    data: serializeLiveStream(await resetStreamKey(context, caller.environment.id, params.liveStreamId!)),
  }));

  route('completeLiveStream', async ({ caller, params }) => {
    await completeLiveStream(context, caller.environment.id, params.liveStreamId!);
    return { data: {} };
  });

  route('disableLiveStream', async ({ caller, params }) => {
    await disableLiveStream(context, caller.environment.id, params.liveStreamId!);
    return { data: {} };
  });

  route('enableLiveStream', async ({ caller, params }) => {
    await enableLiveStream(context, caller.environment.id, params.liveStreamId!);
    return { data: {} };
  });

  route('updateEmbeddedSubtitles', async (request) => {
    const { id, environment_id: environmentId } = await find(request);
    const entries = validateEmbeddedSubtitles(request.body ?? {});
    return { data: serializeLiveStream(await updateEmbeddedSubtitles(context, environmentId, id, entries)) };
  });

  route('updateGeneratedSubtitles', async (request) => {
    const { id, environment_id: environmentId } = await find(request);
    const entries = validateGeneratedSubtitles(request.body ?? {});
    return { data: serializeLiveStream(await updateGeneratedSubtitles(context, environmentId, id, entries)) };
  });

  route('createSimulcastTarget', async (request) => {
    const { id, environment_id: environmentId } = await find(request);
    const target = validateSimulcastTarget(request.body ?? {});
    return { data: serializeSimulcastTarget(await createSimulcastTarget(context, environmentId, id, target)) };
  });

  route('getSimulcastTarget', async (request) => {
    const { id } = await find(request);
    return { data: serializeSimulcastTarget(await getSimulcastTarget(context, id, request.params.simulcastTargetId!)) };
  });

  route('deleteSimulcastTarget', async ({ caller, params }) => {
    const { liveStreamId, simulcastTargetId } = params;
    await deleteSimulcastTarget(context, caller.environment.id, liveStreamId!, simulcastTargetId!);
    return undefined;
  });

  route('updateLiveStaticRenditions', async (request) => {
    const { id, environment_id: environmentId } = await find(request);
    const renditions = validateLiveStaticRenditions(request.body ?? {});
    return { data: serializeLiveStream(await updateLiveStaticRenditions(context, environmentId, id, renditions)) };
  });

  route('deleteLiveStaticRenditions', async ({ caller, params }) => {
    await updateLiveStaticRenditions(context, caller.environment.id, params.liveStreamId!, undefined);
    return undefined;
  });
};

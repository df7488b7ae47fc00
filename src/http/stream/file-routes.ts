import { METADATA_CHILD } from '../../domain/playback/write-playlist.js';
import type { OpenRendition } from '../../domain/renditions/open-rendition.js';
import type { DeliveryCounter } from '../../domain/usage/delivery-counter.js';
import { KinoraError } from '../../lib/errors.js';
import { metadataJson } from '../../media/playlist/session-metadata.js';
import type { TextTracks } from '../../packager/text-tracks.js';
import { type PlaybackOpener, requireReady } from './playback-opener.js';
import { sendRendition } from './send-rendition.js';
import { sendText } from './send-text.js';
import { sendTextFile } from './send-text-track.js';
import type { ViewerRoute } from './viewer-routes.js';

interface FileRouteDeps {
  readonly opener: PlaybackOpener;
  readonly texts: TextTracks;
  readonly openRendition: OpenRendition;
  readonly deliveries: Pick<DeliveryCounter, 'count'>;
}

interface Params {
  readonly playbackId: string;
  readonly file: string;
}

/** Whole files of a playback ID: metadata, texts, static renditions. */
export const fileRoutes = (route: ViewerRoute, { opener, texts, openRendition, deliveries }: FileRouteDeps): void => {
  route<{ playbackId: string }>('/:playbackId/metadata.json', async (request, reply) => {
    const { playable } = await opener.open(request, reply, request.params.playbackId, 'v', METADATA_CHILD);
    const body = JSON.stringify(metadataJson(playable.meta.title, playable.plan.durationSeconds, playable.chapters));
    return sendText(request, reply, 'application/json; charset=utf-8', body);
  });

  route<Params>('/:playbackId/text/:file', async (request, reply) => {
    const { playbackId, file } = request.params;
    const opened = requireReady(await opener.open(request, reply, playbackId, 'v'));
    return sendTextFile(request, reply, texts, opened, file);
  });

  route<Params>('/:playbackId/:file', async (request, reply) => {
    const { playbackId, file } = request.params;
    const opened = requireReady(await opener.open(request, reply, playbackId, 'v'));
    return sendRendition(request, reply, { openRendition, deliveries }, opened, file);
  });

  // Unknown names are not found, but access and state are checked first.
  route<{ playbackId: string }>('/:playbackId/*', async (request, reply) => {
    await opener.open(request, reply, request.params.playbackId, 'v');
    throw new KinoraError('not_found');
  });
};

import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { serializeTrack } from '../../api/responses/track.js';
import { validateUpdateTrack } from '../../api/validate/track.js';
import type { Permission } from '../../domain/access/permissions.js';
import { addTextFile, getCues, replaceCues, type TrackOf } from '../../domain/tracks/stored-text.js';
import { invalidParameters } from '../../lib/errors.js';
import { lastOf } from '../../lib/last-of.js';
import { findSession } from '../plugins/find-session.js';
import type { ConsoleDeps } from './console-deps.js';
import { readCues } from './read-cues.js';
import { requirePermission } from './require-permission.js';

/** As large as a text file that the API downloads. */
const MAX_TEXT_BYTES = 10 * 2 ** 20;

type Params = { id: string; trackId: string };

/** Cues of text tracks, and text tracks from files of the browser: the API takes URLs only. */
export const textTrackRoutes =
  (deps: ConsoleDeps): FastifyPluginAsync =>
  async (app) => {
    app.addContentTypeParser(
      'application/octet-stream',
      { parseAs: 'buffer', bodyLimit: MAX_TEXT_BYTES },
      async (_: unknown, body: Buffer) => body,
    );
    const trackOf = async (request: FastifyRequest, permission: Permission): Promise<TrackOf> => {
      const { caller } = await findSession(request, deps.sessions);
      requirePermission(caller, permission);
      const { id, trackId } = request.params as Params;
      return { environmentId: caller.environment.id, assetId: id, trackId };
    };

    app.get('/assets/:id/tracks/:trackId/cues', async (request) => {
      const cues = await getCues(deps, await trackOf(request, 'video:read'));
      return {
        data: cues.map(({ startSeconds, endSeconds, settings, text }) => ({
          start_time: startSeconds,
          end_time: endSeconds,
          settings,
          text,
        })),
      };
    });

    app.put('/assets/:id/tracks/:trackId/cues', { bodyLimit: MAX_TEXT_BYTES }, async (request) => {
      const of = await trackOf(request, 'video:write');
      return { data: serializeTrack(await replaceCues(deps, of, readCues(request.body))) };
    });

    app.post('/assets/:id/text-tracks', async (request, reply) => {
      const of = await trackOf(request, 'video:write');
      const query = request.query as Record<string, unknown>;
      const { body } = request;
      if (!Buffer.isBuffer(body)) throw invalidParameters('The request body must be the bytes of a text file.');
      const { language_code: languageCode, name } = validateUpdateTrack(
        { language_code: lastOf(query.language_code), name: lastOf(query.name) },
        'text',
      );
      if (!languageCode) throw invalidParameters('language_code is required');
      const closedCaptions = lastOf(query.closed_captions) === 'true';
      const track = await addTextFile(deps, of, { languageCode, name, closedCaptions, bytes: body });
      return reply.code(201).send({ data: serializeTrack(track) });
    });
  };

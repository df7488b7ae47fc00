import { stat } from 'node:fs/promises';
import type { FastifyPluginAsync } from 'fastify';
import { validateCreateAsset } from '../../api/validate/create-asset.js';
import { listEnvironments } from '../../db/tables/server/environment.js';
import { createAsset } from '../../domain/assets/create-asset.js';
import type { DomainContext } from '../../domain/context.js';
import { KinoraError } from '../../lib/errors.js';
import { sendFile } from '../stream/send-file.js';

const SAMPLE_PATH = '/sample.mp4';

/**
 * Serves the sample video that the first start makes, so that its asset is imported like any other.
 */
export const sampleRoute =
  (path: string): FastifyPluginAsync =>
  async (app) => {
    app.get(SAMPLE_PATH, async (request, reply) => {
      const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
        // Not made yet, or switched off.
        if (error.code === 'ENOENT') return undefined;
        throw error;
      });
      if (!stats) throw new KinoraError('not_found');
      const etag = `"${stats.mtimeMs.toString(36)}-${stats.size.toString(36)}"`;
      return sendFile(request, reply, { path, sizeBytes: stats.size, etag }, 'video/mp4');
    });
  };

export const sampleUrl = (baseUrl: string): string => `${baseUrl}${SAMPLE_PATH}`;

/** Creates the sample asset in the first environment and returns its public playback ID. */
export const createSampleAsset = async (context: DomainContext, url: string): Promise<string> => {
  const [environment] = await listEnvironments(context.database.queryable);
  const body = { inputs: [{ url }], playback_policies: ['public'], meta: { title: 'Kinora sample' } };
  const request = validateCreateAsset(body, environment!.default_video_quality);
  const { playbackIds } = await createAsset(context, environment!.id, request);
  return playbackIds[0]!.id;
};

import { stat } from 'node:fs/promises';
import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import { KinoraError } from '../../lib/errors.js';
import { sendFile } from '../stream/send-file.js';

const SAMPLE_PATH = '/sample.mp4';

/** Serves the sample video that the first start makes, so that its asset is imported like any other. */
export const sampleRoute =
  (path: string): FastifyPluginAsync =>
  async (app) => {
    app.get(SAMPLE_PATH, async (request, reply) => {
      const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
        // Not made yet, or switched off.
        if (error.code === 'ENOENT') return undefined;
        throw error;
      });
      if (!found) throw new KinoraError('not_found');
      const etag = `"${found.mtimeMs.toString(36)}-${found.size.toString(36)}"`;
      return sendFile(request, reply, { path, sizeBytes: found.size, etag }, 'video/mp4');
    });
  };

export const sampleUrl = (baseUrl: string): string => `${baseUrl}${SAMPLE_PATH}`;

/** Creates the sample asset through the server's own API and returns its public playback id. */
export const createSampleAsset = async (app: FastifyInstance, token: string, url: string): Promise<string> => {
  const answer = await app.inject({
    method: 'POST',
    url: '/video/v1/assets',
    headers: { authorization: `Basic ${Buffer.from(token).toString('base64')}` },
    payload: { inputs: [{ url }], playback_policies: ['public'], meta: { title: 'Kinora sample' } },
  });
  if (answer.statusCode !== 201) throw new Error(`the API answered ${answer.statusCode}: ${answer.body}`);
  return answer.json<{ data: { playback_ids: { id: string }[] } }>().data.playback_ids[0]!.id;
};

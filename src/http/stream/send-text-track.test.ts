import fastify from 'fastify';
import { expect, it } from 'vitest';
import { isKinoraError } from '../../lib/errors.js';
import { sendTextRendition } from './send-text-track.js';

it('sends a text without cues when that of a broadcast was lost, and no other', async () => {
  const app = fastify();
  const tracks = [
    { id: 'live', type: 'text', text_source: 'generated_live' },
    { id: 'file', type: 'text', text_source: 'uploaded' },
  ];
  const opened = { playable: { assetId: 'asset', tracks }, access: { signed: false } };
  const texts = { find: async () => undefined };
  app.setErrorHandler((error, _request, reply) => reply.code(isKinoraError(error, 'not_found') ? 404 : 500).send());
  app.get('/:trackId/text.vtt', (request, reply) => {
    const { trackId } = request.params as { trackId: string };
    return sendTextRendition(request, reply, texts as never, opened as never, {
      ...{ trackId, file: 'text.vtt', clip: undefined },
    });
  });
  const live = await app.inject('/live/text.vtt');
  expect([live.statusCode, live.body]).toEqual([200, 'WEBVTT\n']);
  expect((await app.inject('/file/text.vtt')).statusCode).toBe(404);
  await app.close();
});

import type { preHandlerAsyncHookHandler } from 'fastify';
import { GENERATION } from '../../media/plan/generation.js';
import type { Origin } from '../../net/fetch-origin.js';
import { passThrough } from '../pass-through.js';

/** A server that makes another generation; undefined if none is running. */
export type FindGeneration = (generation: number, key: string) => Origin | undefined;

/**
 * While a release that makes other bytes is rolled out, players keep the URLs of the playlist that they have loaded:
 * requests for another generation are passed to a server that makes it.
 */
export const passOtherGenerations =
  (find: FindGeneration): preHandlerAsyncHookHandler =>
  async (request, reply) => {
    const { playbackId, plan } = request.params as { playbackId?: string; plan?: string };
    if (playbackId === undefined || plan === undefined || !/^[1-9]\d{0,5}$/.test(plan)) return;
    if (Number(plan) === GENERATION) return;
    const server = find(Number(plan), playbackId);
    return server && passThrough(server, request, reply);
  };

import type { FastifyPluginAsync } from 'fastify';
import type { SpentBudget } from '../../db/tables/playback/delivery-budget.js';
import {
  DELIVERIES_PATH,
  type EdgeDelivery,
  LOOKUP_PATH,
  type Lookup,
  type LookupResponse,
  MAX_EDGE_DELIVERIES,
  MAX_LOOKUP_IDS,
} from '../../domain/edge/edge-calls.js';
import { EDGE_HEADER } from '../../domain/edge/edge-token.js';
import type { AccessRows } from '../../domain/playback/access-check.js';
import type { PlayableFinder } from '../../domain/playback/playable-finder.js';
import type { Delivery, DeliveryCounter } from '../../domain/usage/delivery-counter.js';
import { segmentDelivery } from '../../domain/usage/segment-delivery.js';
import { invalidParameters, KinoraError } from '../../lib/errors.js';
import { isId, isShortId } from '../../lib/ids.js';
import type { Origin, OriginRequest } from '../../net/fetch-origin.js';
import type { Owners } from '../internal/proxy-to-owner.js';
import { liveDelivery } from '../stream/live-segments.js';

export interface EdgeOriginDeps {
  readonly isEdge: (header: unknown) => boolean;
  /** Servers that may have a broadcast, if there are several. */
  readonly owners?: Pick<Owners, 'ofEarly'> | undefined;
  readonly playables: PlayableFinder;
  readonly rows: AccessRows;
  readonly spentBudgets: () => Promise<readonly SpentBudget[]>;
  readonly deliveries: Pick<DeliveryCounter, 'count'>;
}

const textsIn = (value: unknown): string[] => {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > MAX_LOOKUP_IDS || !value.every((id) => typeof id === 'string'))
    throw invalidParameters('The IDs of a lookup are invalid');
  return value;
};
const idsIn = (value: unknown): string[] => textsIn(value).filter(isId);
const environmentsIn = (value: unknown): string[] => textsIn(value).filter(isShortId);

const readDeliveries = (body: unknown): EdgeDelivery[] => {
  const isDelivery = (value: unknown): value is EdgeDelivery => {
    const { playbackId, rendition, file, count, bytes } = (value ?? {}) as Record<string, unknown>;
    const areNames = [playbackId, rendition, file].every((name) => typeof name === 'string');
    const areNumbers = [count, bytes].every((number) => Number.isSafeInteger(number) && (number as number) >= 0);
    return areNames && areNumbers && (bytes as number) > 0;
  };
  if (!Array.isArray(body) || body.length > MAX_EDGE_DELIVERIES || !body.every(isDelivery))
    throw invalidParameters('The deliveries are invalid');
  return body;
};

/** What edges ask this server. Others are told that there is nothing. */
export const edgeOriginRoutes = (deps: EdgeOriginDeps): FastifyPluginAsync => {
  const { isEdge, playables, rows, deliveries } = deps;
  return async (app) => {
    app.addHook('onRequest', async (request, reply) => {
      reply.header('cache-control', 'no-store');
      if (!isEdge(request.headers[EDGE_HEADER])) throw new KinoraError('not_found');
    });

    app.post(LOOKUP_PATH, async (request): Promise<LookupResponse> => {
      const asked = (request.body ?? {}) as Lookup;
      const playbackIds = await Promise.all(idsIn(asked.playbackIds).map((id) => playables.find(id)));
      const [keyIds, restrictionIds] = [idsIn(asked.signingKeys), idsIn(asked.playbackRestrictions)];
      const environmentIds = environmentsIn(asked.publicRestrictions);
      return {
        playbackIds: playbackIds.flatMap((playable) => {
          if (!playable) return [];
          const { playbackId, environmentId, policy, assetId } = playable;
          return { playbackId, environmentId, policy, assetId };
        }),
        signingKeys: keyIds.length > 0 ? await rows.signingKeys(keyIds) : [],
        playbackRestrictions: restrictionIds.length > 0 ? await rows.playbackRestrictions(restrictionIds) : [],
        publicRestrictions: environmentIds.length > 0 ? await rows.publicRestrictions(environmentIds) : [],
        budgets: asked.budgets === true ? await deps.spentBudgets() : [],
      };
    });

    app.post(DELIVERIES_PATH, async (request, reply) => {
      const reported = readDeliveries(request.body);
      const remote = new Map<Origin, EdgeDelivery[]>();
      const counted: Delivery[] = [];
      for (const delivery of reported) {
        const { playbackId, rendition, file, count, bytes, live, passed } = delivery;
        const playable = await playables.find(playbackId);
        // Deleted in the meantime.
        if (!playable) continue;
        const { environmentId, assetId, liveStreamId, plan } = playable;
        const owner = live && !passed && !playable.live ? deps.owners?.ofEarly(liveStreamId ?? assetId) : undefined;
        if (owner) remote.set(owner, [...(remote.get(owner) ?? []), { ...delivery, passed: true }]);
        const delivered = live
          ? playable.live && liveDelivery(playable.live, rendition, file)
          : plan && segmentDelivery(plan, rendition, file, await playables.findAdditional(playable, rendition));
        if (delivered)
          counted.push({ environmentId, assetId, ...delivered, seconds: delivered.seconds * count, bytes });
      }
      const token = { [EDGE_HEADER]: request.headers[EDGE_HEADER], 'content-type': 'application/json' };
      // The edge would repeat the whole call if it failed, and the rest would count twice.
      const passed = await Promise.allSettled([...remote].map(([owner, body]) => passOn(owner, token, body)));
      for (const { reason } of passed.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[])
        request.log.warn({ err: reason }, 'deliveries of a live stream not counted: its server is away');
      for (const delivery of counted) deliveries.count(delivery);
      return reply.code(204).send();
    });
  };
};

/** @throws KinoraError `unavailable` */
const passOn = async (owner: Origin, headers: OriginRequest['headers'], body: EdgeDelivery[]): Promise<void> => {
  const sent = { method: 'POST', path: DELIVERIES_PATH, headers, body: JSON.stringify(body) };
  const { status, body: received } = await owner.fetch(sent);
  received.destroy();
  if (status !== 204) throw new KinoraError('unavailable', { details: { stage: DELIVERIES_PATH, status } });
};

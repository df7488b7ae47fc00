import type { FastifyInstance } from 'fastify';
import { serializeDelivery } from '../../api/serialize/webhook.js';
import { testWebhook } from '../../domain/webhooks/deliveries.js';
import { getWebhook } from '../../domain/webhooks/webhooks.js';
import { findSession } from '../plugins/find-session.js';
import type { ConsoleDeps } from './console-deps.js';
import { requirePermission } from './require-permission.js';

/** Sends a test event now and answers what the receiver answered. */
export const webhookTestRoute = (app: FastifyInstance, deps: ConsoleDeps): void => {
  app.post<{ Params: { id: string } }>('/webhook-test/:id', async (request) => {
    const { caller } = await findSession(request, deps.sessions);
    requirePermission(caller, 'system:write');
    const webhook = await getWebhook(deps, caller.environment.id, request.params.id);
    const { delivery, attempts } = await testWebhook(deps, deps.webhookSender, webhook);
    return { data: serializeDelivery(delivery, attempts) };
  });
};

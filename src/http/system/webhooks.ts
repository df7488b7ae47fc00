import { serializeDelivery } from '../../api/responses/event.js';
import { serializeNewWebhook, serializeWebhook } from '../../api/responses/webhook.js';
import { encodeCursor, readListQuery } from '../../api/validate/list-query.js';
import { validateCreateWebhook, validateUpdateWebhook } from '../../api/validate/webhook.js';
import type { DomainContext } from '../../domain/context.js';
import {
  type DeliveryView,
  getDelivery,
  listDeliveries,
  redeliver,
  testWebhook,
} from '../../domain/webhooks/deliveries.js';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  updateWebhook,
} from '../../domain/webhooks/webhooks.js';
import type { WebhookSender } from '../../net/send-webhook.js';
import type { ApiRequest, Route } from '../plugins/operation-route.js';

const serialize = ({ delivery, attempts }: DeliveryView): object => serializeDelivery(delivery, attempts);

export const webhookRoutes = (
  route: Route,
  { webhookSender: sender, ...context }: DomainContext & { readonly webhookSender: WebhookSender },
): void => {
  const webhookOf = ({ caller, params }: ApiRequest) => getWebhook(context, caller.environment.id, params.webhookId!);

  route('createWebhook', async ({ caller, body }) => {
    const request = validateCreateWebhook(body ?? {});
    return { data: serializeNewWebhook(await createWebhook(context, sender, caller.environment.id, request)) };
  });

  route('listWebhooks', async ({ caller, query }) => {
    const webhooks = await listWebhooks(context, caller.environment.id, readListQuery(query));
    return { data: webhooks.map(serializeWebhook) };
  });

  route('getWebhook', async (request) => ({ data: serializeWebhook(await webhookOf(request)) }));

  route('updateWebhook', async (request) => {
    const webhook = await webhookOf(request);
    const change = validateUpdateWebhook(request.body ?? {});
    return { data: serializeWebhook(await updateWebhook(context, sender, webhook, change)) };
  });

  route('deleteWebhook', async ({ caller, params }) => {
    await deleteWebhook(context, caller.environment.id, params.webhookId!);
    return undefined;
  });

  route('testWebhook', async (request) => ({
    data: serialize(await testWebhook(context, sender, await webhookOf(request))),
  }));

  route('listDeliveries', async (request) => {
    const { id } = await webhookOf(request);
    const page = await listDeliveries(context, id, readListQuery(request.query));
    return { data: page.deliveries.map(serialize), next_cursor: page.next && encodeCursor(page.next) };
  });

  route('getDelivery', async (request) => {
    const { id } = await webhookOf(request);
    return { data: serialize(await getDelivery(context, id, request.params.deliveryId!)) };
  });

  route('redeliver', async (request) => ({
    data: serialize(await redeliver(context, await webhookOf(request), request.params.deliveryId!)),
  }));
};

import { Type } from 'typebox';

const address = () =>
  Type.String({
    format: 'webhook-address',
    description:
      'URL that receives the events as POST requests: HTTP or HTTPS, at most 2,048 characters, and unique among the webhooks of the environment',
  });

/** Body of POST /system/v1/webhooks. */
export const CreateWebhookBody = Type.Object({ address: address() });

/** Body of PATCH /system/v1/webhooks/:webhookId; at least one field. */
export const UpdateWebhookBody = Type.Object({
  address: Type.Optional(address()),
  enabled: Type.Optional(
    Type.Boolean({ description: '`false` stops new and pending deliveries to this webhook. `true` resumes new ones' }),
  ),
});

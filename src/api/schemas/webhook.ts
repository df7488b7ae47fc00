import { type Static, Type } from 'typebox';

const address = () => Type.String({ format: 'webhook-address' });

/** Body of POST /system/v1/webhooks. */
export const CreateWebhookBody = Type.Object({ address: address() });
export type CreateWebhookBody = Static<typeof CreateWebhookBody>;

/** Body of PATCH /system/v1/webhooks/:webhookId; at least one field. */
export const UpdateWebhookBody = Type.Object({
  address: Type.Optional(address()),
  enabled: Type.Optional(Type.Boolean()),
});
export type UpdateWebhookBody = Static<typeof UpdateWebhookBody>;

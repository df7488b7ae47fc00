import { Type } from 'typebox';
import { isoMicroseconds } from '../../lib/clock.js';
import { id, isoTime } from '../schemas/response.js';

const { Object: Fields, String: Text, Boolean: Flag } = Type;

export const WebhookResponse = Fields(
  {
    id: id('Unique ID of the webhook'),
    address: Text({ description: 'URL that receives the events as POST requests' }),
    enabled: Flag({ description: 'Whether events are delivered to the webhook' }),
    created_at: isoTime('When the webhook was created'),
  },
  { title: 'Webhook', description: 'A URL that receives every event of an environment' },
);

export const NewWebhookResponse = Fields(
  {
    ...WebhookResponse.properties,
    signing_secret: Text({
      description:
        'Key to verify the `mux-signature` header of deliveries. Returned only in this response, so store it now',
    }),
  },
  { title: 'NewWebhook', description: 'A webhook with the secret that signs its deliveries' },
);

export interface WebhookRecord {
  readonly id: string;
  readonly address: string;
  readonly enabled: boolean;
  readonly created_at: Date;
}

/** A webhook without its secret. */
export const serializeWebhook = ({ id, address, enabled, created_at }: WebhookRecord): object => ({
  id,
  address,
  enabled,
  created_at: isoMicroseconds(created_at),
});

/** The only answer that shows the secret. */
export const serializeNewWebhook = (webhook: WebhookRecord & { readonly signing_secret: string }): object => ({
  ...serializeWebhook(webhook),
  signing_secret: webhook.signing_secret,
});

import { isoMicroseconds } from '../../lib/clock.js';

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

export interface AttemptRecord {
  readonly delivery_id: string;
  readonly number: number;
  readonly address: string;
  readonly created_at: Date;
  readonly duration_ms: number;
  readonly response_status: number | null;
  readonly response_headers: object | null;
  readonly response_body: string | null;
  readonly error: string | null;
}

export interface DeliveryRecord {
  readonly id: string;
  readonly webhook_id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly object_type: string;
  readonly object_id: string;
  readonly state: string;
  readonly created_at: Date;
  readonly next_attempt_at: Date;
  readonly finished_at: Date | null;
}

const serializeAttempt = (attempt: AttemptRecord): object => ({
  number: attempt.number,
  address: attempt.address,
  created_at: isoMicroseconds(attempt.created_at),
  duration_ms: attempt.duration_ms,
  ...(attempt.response_status !== null && {
    response_status_code: attempt.response_status,
    response_headers: attempt.response_headers,
    response_body: attempt.response_body,
  }),
  ...(attempt.error !== null && { error: attempt.error }),
});

/** A delivery with its attempts, in order. */
export const serializeDelivery = (delivery: DeliveryRecord, attempts: readonly AttemptRecord[]): object => ({
  id: delivery.id,
  webhook_id: delivery.webhook_id,
  event: {
    id: delivery.event_id,
    type: delivery.event_type,
    object: { type: delivery.object_type, id: delivery.object_id },
  },
  state: delivery.state,
  created_at: isoMicroseconds(delivery.created_at),
  ...(delivery.state === 'pending' && { next_attempt_at: isoMicroseconds(delivery.next_attempt_at) }),
  ...(delivery.finished_at && { finished_at: isoMicroseconds(delivery.finished_at) }),
  attempts: attempts.map(serializeAttempt),
});

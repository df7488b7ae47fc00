import type { AttemptResult, DueDelivery } from '../../db/tables/server/webhook-delivery.js';
import type { Clock } from '../../lib/clock.js';
import type { WebhookSender } from '../../net/send-webhook.js';
import { retryPauseMs } from './retry-timetable.js';
import { signWebhook } from './sign-webhook.js';

/** Sends a delivery once, signed at this moment, and returns what happens next. Never throws. */
export const attemptDelivery = async (
  { sender, clock }: { readonly sender: WebhookSender; readonly clock: Clock },
  { id, attempts, body, address, signing_secret: secret }: Omit<DueDelivery, 'webhook_id'>,
  signal?: AbortSignal,
): Promise<AttemptResult> => {
  const createdAt = clock.now();
  const startedMs = clock.monotonicMs();
  const signature = signWebhook(secret, Math.floor(createdAt.getTime() / 1000), body);
  const response = await sender.send(address, { body, signature }, signal);
  const succeeded = response.status !== undefined && response.status >= 200 && response.status < 300;
  const pauseMs = succeeded ? undefined : retryPauseMs(attempts + 1);
  return {
    deliveryId: id,
    address,
    createdAt,
    durationMs: Math.round(clock.monotonicMs() - startedMs),
    succeeded,
    ...(pauseMs !== undefined && { retryAt: new Date(clock.now().getTime() + pauseMs) }),
    ...response,
  };
};

import { isoMicroseconds } from '../../lib/clock.js';
import { type AssetView, serializeAsset } from './asset.js';

/** An asset inside an event: as in the API, but with its creation time as a number. */
export const serializeAssetEvent = (view: AssetView): object => ({
  ...serializeAsset(view),
  created_at: Math.floor(view.asset.created_at.getTime() / 1000),
});

interface EventRecord {
  /** The envelope as sent. */
  readonly body: string;
}

/** The event as receivers get it, with an empty list of attempts. */
export const serializeEvent = ({ body }: EventRecord): object => JSON.parse(body);

interface EventAttemptRecord {
  readonly delivery_id: string;
  readonly number: number;
  readonly webhook_id: string;
  readonly address: string;
  readonly created_at: Date;
  readonly response_status: number | null;
  readonly response_headers: object | null;
  readonly response_body: string | null;
}

/** The event with all attempts to send it. */
export const serializeEventWithAttempts = (
  event: EventRecord,
  attempts: readonly EventAttemptRecord[],
  maxAttempts: number,
): object => ({
  ...serializeEvent(event),
  attempts: attempts.map((attempt) => ({
    id: `${attempt.delivery_id}.${attempt.number}`,
    webhook_id: attempt.webhook_id,
    address: attempt.address,
    created_at: isoMicroseconds(attempt.created_at),
    max_attempts: maxAttempts,
    ...(attempt.response_status !== null && {
      response_status_code: attempt.response_status,
      response_headers: attempt.response_headers,
      response_body: attempt.response_body,
    }),
  })),
});

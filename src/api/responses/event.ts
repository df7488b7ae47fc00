import { Type } from 'typebox';
import { isoMicroseconds } from '../../lib/clock.js';
import { id, isoTime } from '../schemas/response.js';

const { Optional, Object: Fields, Enum, Integer, String: Text, Null } = Type;

const WEBHOOK_ID = 'ID of the webhook that receives the event';

/** The response of the receiver; absent when there was none. */
const response = {
  response_status_code: Optional(
    Integer({ description: 'HTTP status of the response; 2xx is a success. Absent if there was no response' }),
  ),
  response_headers: Optional(
    Type.Record(Text(), Text(), { description: 'Headers of the response. Absent if there was no response' }),
  ),
  response_body: Optional(
    Text({ description: 'The first 1,024 bytes of the response. Absent if there was no response' }),
  ),
};

const attemptAddress = () => Text({ description: 'URL that the attempt was sent to' });

const ObjectOfEvent = Fields(
  {
    type: Text({ description: 'Kind of the resource, such as `asset`, `track` or `upload`' }),
    id: id('ID of the resource'),
  },
  { description: 'The resource that changed' },
);

const eventType = () => Text({ description: 'What happened to which kind of resource, such as `video.asset.ready`' });

export const EventResponse = Fields(
  {
    id: Text({
      format: 'uuid',
      description: 'Unique ID of the event. The same for all webhooks and attempts, so it identifies duplicates',
    }),
    type: eventType(),
    object: ObjectOfEvent,
    environment: Fields(
      { name: Text({ description: 'Name of the environment' }), id: id('ID of the environment') },
      { description: 'The environment that the resource belongs to' },
    ),
    data: Type.Unsafe({
      type: 'object',
      description:
        'The resource at the time of the event, as API responses represent it, except that times are numbers of Unix seconds',
    }),
    created_at: isoTime('When the event happened'),
    attempts: Type.Array(
      Fields({
        id: Text({ description: 'Unique ID of the attempt' }),
        webhook_id: id(WEBHOOK_ID),
        address: attemptAddress(),
        created_at: isoTime('When the attempt began'),
        max_attempts: Integer({ description: 'Number of attempts after which a delivery fails' }),
        ...response,
      }),
      { description: 'Every attempt to deliver the event. Filled only when one event is retrieved; empty elsewhere' },
    ),
    request_id: Null({ description: 'Always `null`. Present for compatibility' }),
    accessor: Null({ description: 'Always `null`. Present for compatibility' }),
    accessor_source: Null({ description: 'Always `null`. Present for compatibility' }),
  },
  { title: 'Event', description: 'A change of a resource. Webhooks receive this object as the body of a request' },
);

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

export const DeliveryResponse = Fields(
  {
    id: Text({ format: 'uuid', description: 'Unique ID of the delivery' }),
    webhook_id: id(WEBHOOK_ID),
    event: Fields(
      {
        id: Text({ format: 'uuid', description: 'ID of the event' }),
        type: eventType(),
        object: ObjectOfEvent,
      },
      { description: 'The event that is delivered, without its data' },
    ),
    state: Enum(['pending', 'succeeded', 'failed', 'stopped'], {
      description:
        '`pending` while attempts remain; then `succeeded`, or `failed` after the last attempt. `stopped` if the webhook was disabled or deleted',
    }),
    created_at: isoTime('When the delivery was created'),
    next_attempt_at: Optional(isoTime('When the next attempt is due. Present while the delivery is `pending`')),
    finished_at: Optional(isoTime('When the delivery ended. Present unless it is `pending`')),
    attempts: Type.Array(
      Fields({
        number: Integer({ description: 'Number of the attempt, starting at 1' }),
        address: attemptAddress(),
        created_at: isoTime('When the attempt began'),
        duration_ms: Integer({ description: 'Duration of the attempt in milliseconds' }),
        ...response,
        error: Optional(Text({ description: 'Why there is no response. Absent if there was one' })),
      }),
      { description: 'Every attempt so far, the oldest first' },
    ),
  },
  { title: 'Delivery', description: 'An event on its way to one webhook, with all attempts' },
);

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

import type { Database } from '../db/database.js';
import { WEBHOOK_READY } from '../db/tables/server/event.js';
import { listDueWebhooks } from '../db/tables/server/webhook.js';
import { type AttemptResult, type DueDelivery, listDueDeliveries } from '../db/tables/server/webhook-delivery.js';
import { attemptDelivery } from '../domain/webhooks/attempt-delivery.js';
import type { Clock } from '../lib/clock.js';
import type { WebhookSender } from '../net/send-webhook.js';
import type { Logger } from '../telemetry/logger.js';
import { createWebhookResultSaver } from './save-webhook-results.js';

/**
 * Concurrent requests to one receiver. There is no limit over all receivers, so that dead ones can't block the
 * others.
 */
const PER_WEBHOOK = 8;
/** The number of webhooks per look. */
const LOOK_BATCH = 32;
/** Finds due retries and deliveries that no notification announced. */
const POLL_MS = 1000;
/** For this long after an event, its failed delivery holds back later ones for the same object. */
const ORDERED_MS = 60_000;

export interface WebhookDeliverer {
  /** What it throws leaves nothing behind; the deliverer is not to be used then. */
  start(): Promise<void>;
  /** Sends nothing new and waits at most `limitMs` for running requests; those cut off are sent again later. */
  stop(limitMs: number): Promise<void>;
}

interface WebhookDelivererOptions {
  readonly database: Database;
  readonly sender: WebhookSender;
  readonly clock: Clock;
  readonly logger: Logger;
  /** False when another server may send: then nothing new is sent. */
  readonly mayWork: () => boolean;
}

/** One webhook while it has something to send. */
interface Receiver {
  requests: number;
  /** The last look filled all free slots, so there may be more deliveries. */
  hasMore: boolean;
}

const logOutcome = (logger: Logger, due: DueDelivery, result: AttemptResult): void => {
  const { status, error, retryAt } = result;
  const fields = { webhook_id: due.webhook_id, delivery_id: due.id, attempt: due.attempts + 1, status, error };
  if (result.succeeded) logger.debug(fields, 'webhook delivered');
  else if (retryAt) logger.info({ ...fields, retry_at: retryAt }, 'webhook delivery failed, will retry');
  else logger.warn(fields, 'webhook delivery failed permanently');
};

/**
 * Sends what `recordEvent` wrote. The table is the queue, and only this process reads it (of several servers, the one
 * that has the lease), so running deliveries are kept in memory: after a crash they are still due.
 */
export const createWebhookDeliverer = (options: WebhookDelivererOptions): WebhookDeliverer => {
  const { database, clock, logger, mayWork } = options;
  const receivers = new Map<string, Receiver>();
  /** The webhooks to look at. */
  const ready = new Set<string>();
  /** Deliveries that are being sent or whose outcome is not stored yet: they must not be sent again. */
  const active = new Set<string>();
  const cut = new AbortController();
  const save = createWebhookResultSaver(options, cut.signal);
  const sending = new Set<Promise<void>>();
  let isLooking = false;
  let stopping = false;
  let timer: NodeJS.Timeout | undefined;
  let unlisten: (() => Promise<void>) | undefined;

  const receiverOf = (webhookId: string): Receiver => {
    const known = receivers.get(webhookId) ?? { requests: 0, hasMore: false };
    receivers.set(webhookId, known);
    return known;
  };

  const send = async (due: DueDelivery): Promise<void> => {
    const receiver = receiverOf(due.webhook_id);
    receiver.requests++;
    const result = await attemptDelivery(options, due, cut.signal);
    receiver.requests--;
    // The next deliveries can be sent while the outcome is stored. Looking for several costs as much as for one.
    if (receiver.hasMore && receiver.requests <= PER_WEBHOOK / 2) wake(due.webhook_id);
    if (cut.signal.aborted && !result.succeeded) return;
    logOutcome(logger, due, result);
    await save(result);
  };

  const start = (due: DueDelivery): void => {
    active.add(due.id);
    const work = send(due).finally(() => {
      active.delete(due.id);
      sending.delete(work);
      // The next event of the same object was waiting for this outcome.
      wake(due.webhook_id);
    });
    sending.add(work);
  };

  const lookOnce = async (): Promise<void> => {
    const places = new Map(
      [...ready].slice(0, LOOK_BATCH).map((id) => [id, PER_WEBHOOK - (receivers.get(id)?.requests ?? 0)]),
    );
    for (const id of places.keys()) ready.delete(id);
    const now = clock.now();
    const due = await listDueDeliveries(database.queryable, places, {
      now,
      orderedSince: new Date(now.getTime() - ORDERED_MS),
      except: [...active],
    });
    if (stopping || !mayWork()) return;
    for (const [id, room] of places) {
      const found = due.filter(({ webhook_id }) => webhook_id === id);
      const receiver = receiverOf(id);
      receiver.hasMore = found.length === room;
      for (const delivery of found) start(delivery);
      if (receiver.requests === 0) receivers.delete(id);
    }
  };

  /** Looks for the deliveries of all ready webhooks together until no more can be started. */
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    try {
      while (ready.size > 0 && !stopping) await lookOnce();
    } catch (error) {
      // The next poll looks again.
      logger.warn({ err: error }, 'webhook deliveries not readable');
    } finally {
      isLooking = false;
    }
  };

  /** Marks a webhook that may have something to send. */
  const wake = (webhookId: string): void => {
    ready.add(webhookId);
    void look();
  };

  const poll = async (): Promise<void> => {
    try {
      for (const webhookId of await listDueWebhooks(database.queryable, clock.now())) wake(webhookId);
    } catch (error) {
      if (!stopping) logger.warn({ err: error }, 'webhook sender maintenance failed, retrying');
    }
    if (!stopping) timer = setTimeout(() => void poll(), POLL_MS);
  };

  return {
    start: async () => {
      unlisten = await database.listen(WEBHOOK_READY, wake);
      void poll();
    },
    stop: async (limitMs) => {
      stopping = true;
      clearTimeout(timer);
      await unlisten?.();
      const limit = setTimeout(() => cut.abort(), limitMs);
      await Promise.all(sending);
      clearTimeout(limit);
    },
  };
};

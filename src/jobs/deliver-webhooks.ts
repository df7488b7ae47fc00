import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../db/database.js';
import { WEBHOOK_READY } from '../db/tables/event.js';
import { listDueWebhooks } from '../db/tables/webhook.js';
import {
  type AttemptResult,
  type DueDelivery,
  listDueDeliveries,
  saveAttempts,
} from '../db/tables/webhook-delivery.js';
import { attemptDelivery } from '../domain/webhooks/attempt-delivery.js';
import { backoffMs } from '../lib/backoff.js';
import type { Clock } from '../lib/clock.js';
import type { WebhookSender } from '../net/send-webhook.js';
import type { Logger } from '../telemetry/logger.js';

/** Requests to one receiver at a time. There is no limit over all, so that dead receivers can't take the others' places. */
const PER_WEBHOOK = 8;
/** Finds retries that are due, and what no notification told of. */
const POLL_MS = 1000;
/** So long after an event a failed delivery of it holds back the later ones of the same object. */
const ORDERED_MS = 60_000;
const SAVE_BACKOFF = { baseMs: 100, maxMs: 5000 };

export interface WebhookDeliverer {
  start(): Promise<void>;
  /** Sends nothing new and waits for what is under way, at most `limitMs`; what is cut off then is sent again later. */
  stop(limitMs: number): Promise<void>;
}

interface WebhookDelivererOptions {
  readonly database: Database;
  readonly sender: WebhookSender;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One webhook while it has something to send. */
interface Receiver {
  /** Ids of the deliveries that are being sent or whose outcome is not stored yet: they may not be sent twice. */
  readonly active: Set<string>;
  looking: boolean;
  lookAgain: boolean;
}

/**
 * Sends what `recordEvent` wrote. The table is the queue, and this process alone reads it (there is one server for a database),
 * so that what is being sent is remembered here: a crash leaves it due.
 */
export const createWebhookDeliverer = (options: WebhookDelivererOptions): WebhookDeliverer => {
  const { database, clock, logger } = options;
  const receivers = new Map<string, Receiver>();
  const cut = new AbortController();
  const sending = new Set<Promise<void>>();
  let unsaved: { readonly result: AttemptResult; readonly saved: () => void }[] = [];
  let isSaving = false;
  let stopping = false;
  let timer: NodeJS.Timeout | undefined;
  let unlisten: (() => Promise<void>) | undefined;

  /** Stores outcomes, all those together that came while the last ones were stored. Ends early only when cut off. */
  const saveAll = async (): Promise<void> => {
    if (isSaving) return;
    isSaving = true;
    while (unsaved.length > 0) {
      const batch = unsaved;
      unsaved = [];
      const results = batch.map(({ result }) => result);
      for (let attempt = 1; !cut.signal.aborted; attempt++) {
        try {
          await saveAttempts(database.queryable, results, clock.now());
          break;
        } catch (error) {
          // Sending again instead would bring a receiver twice what it has taken.
          logger.warn({ err: error }, 'The outcome of webhook deliveries could not be stored; trying again');
          await delay(backoffMs(attempt, SAVE_BACKOFF), undefined, { signal: cut.signal }).catch(() => undefined);
        }
      }
      for (const { saved } of batch) saved();
    }
    isSaving = false;
  };

  const save = (result: AttemptResult): Promise<void> =>
    new Promise((saved) => {
      unsaved.push({ result, saved });
      void saveAll();
    });

  const send = async (webhookId: string, due: DueDelivery): Promise<void> => {
    const result = await attemptDelivery(options, due, cut.signal);
    if (cut.signal.aborted && !result.succeeded) return;
    const { status, error, retryAt } = result;
    const fields = { webhook_id: webhookId, delivery_id: due.id, attempt: due.attempts + 1, status, error };
    if (result.succeeded) logger.debug(fields, 'the webhook took an event');
    else if (retryAt)
      logger.info({ ...fields, retry_at: retryAt }, 'the webhook did not take an event; trying again later');
    else logger.warn(fields, 'the webhook did not take an event in all attempts');
    await save(result);
  };

  const look = async (webhookId: string, receiver: Receiver): Promise<void> => {
    const { active } = receiver;
    // Half of the places at a time: a look costs as much for one as for several.
    while (!stopping && active.size <= PER_WEBHOOK / 2) {
      const now = clock.now();
      const due = await listDueDeliveries(database.queryable, webhookId, {
        now,
        orderedSince: new Date(now.getTime() - ORDERED_MS),
        limit: PER_WEBHOOK - active.size,
        except: [...active],
      });
      if (due.length === 0 || stopping) break;
      for (const delivery of due) {
        active.add(delivery.id);
        const work = send(webhookId, delivery).finally(() => {
          active.delete(delivery.id);
          sending.delete(work);
          wake(webhookId);
        });
        sending.add(work);
      }
    }
  };

  /** Sends what a webhook is waiting for; asked again meanwhile, it looks once more. */
  const wake = (webhookId: string): void => {
    if (stopping) return;
    const receiver = receivers.get(webhookId) ?? { active: new Set(), looking: false, lookAgain: false };
    receivers.set(webhookId, receiver);
    receiver.lookAgain = true;
    if (receiver.looking) return;
    receiver.looking = true;
    void (async () => {
      try {
        while (receiver.lookAgain && !stopping) {
          receiver.lookAgain = false;
          await look(webhookId, receiver);
        }
      } catch (error) {
        // The next poll looks again.
        logger.warn({ err: error, webhook_id: webhookId }, 'No webhook deliveries could be read');
      } finally {
        receiver.looking = false;
        if (receiver.active.size === 0) receivers.delete(webhookId);
      }
    })();
  };

  const poll = async (): Promise<void> => {
    try {
      for (const webhookId of await listDueWebhooks(database.queryable, clock.now())) wake(webhookId);
    } catch (error) {
      if (!stopping) logger.warn({ err: error }, 'The webhooks could not be looked after; trying again');
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

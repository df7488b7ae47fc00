import type { Database } from '../db/database.js';
import { WEBHOOK_READY } from '../db/tables/server/event.js';
import { listDueWebhooks } from '../db/tables/server/webhook.js';
import { type AttemptResult, type DueDelivery, listDueDeliveries } from '../db/tables/server/webhook-delivery.js';
import { attemptDelivery } from '../domain/webhooks/attempt-delivery.js';
import type { Clock } from '../lib/clock.js';
import type { WebhookSender } from '../net/send-webhook.js';
import type { Logger } from '../telemetry/logger.js';
import { WebhookResults } from './webhook-results.js';

/**
 * Concurrent requests to one receiver. There is no limit over all receivers, so that dead ones
 * can't block the others.
 */
const PER_WEBHOOK = 8;
/** Webhooks whose deliveries one query finds. */
const WEBHOOK_BATCH = 32;
/** Finds due retries and deliveries that no notification announced. */
const POLL_MS = 1000;
/** For this long after an event, its failed delivery holds back later ones for the same object. */
const ORDERED_MS = 60_000;

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
  /** The last query filled all free slots, so there may be more deliveries. */
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
 * Sends what `recordEvent` wrote. The table is the queue, and only this process reads it (of
 * several servers, the one that has the lease), so running deliveries are kept in memory: after a
 * crash they are still due.
 */
export class WebhookDeliverer {
  private readonly receivers = new Map<string, Receiver>();
  /** The webhooks whose due deliveries are looked up next. */
  private readonly ready = new Set<string>();
  /**
   * Deliveries that are being sent or whose outcome is not stored yet: they must not be sent again.
   */
  private readonly active = new Set<string>();
  private readonly running = new Set<Promise<void>>();
  private readonly cut = new AbortController();
  private readonly results: WebhookResults;
  private isStarting = false;
  private isStopping = false;
  private timer: NodeJS.Timeout | undefined;
  private unlisten: (() => Promise<void>) | undefined;

  constructor(private readonly options: WebhookDelivererOptions) {
    this.results = new WebhookResults(options, this.cut.signal);
  }

  /** What it throws leaves nothing behind; the deliverer is not to be used then. */
  async start(): Promise<void> {
    this.unlisten = await this.options.database.listen(WEBHOOK_READY, (webhookId) => this.wake(webhookId));
    void this.poll();
  }

  /**
   * Sends nothing new and waits at most `limitMs` for running requests; those cut off are sent
   * again later.
   */
  async stop(limitMs: number): Promise<void> {
    this.isStopping = true;
    clearTimeout(this.timer);
    await this.unlisten?.();
    const limit = setTimeout(() => this.cut.abort(), limitMs);
    await Promise.all(this.running);
    clearTimeout(limit);
  }

  private async poll(): Promise<void> {
    const { database, clock, logger } = this.options;
    try {
      for (const webhookId of await listDueWebhooks(database.queryable, clock.now())) this.wake(webhookId);
    } catch (error) {
      if (!this.isStopping) logger.warn({ err: error }, 'webhook sender maintenance failed, retrying');
    }
    if (!this.isStopping) this.timer = setTimeout(() => void this.poll(), POLL_MS);
  }

  /** Marks a webhook that may have something to send. */
  private wake(webhookId: string): void {
    this.ready.add(webhookId);
    void this.startAll();
  }

  /** Starts the due deliveries of all ready webhooks until no more can be started. */
  private async startAll(): Promise<void> {
    if (this.isStarting) return;
    this.isStarting = true;
    try {
      while (this.ready.size > 0 && !this.isStopping) await this.startBatch();
    } catch (error) {
      // The next poll tries again.
      this.options.logger.warn({ err: error }, 'webhook deliveries not readable');
    } finally {
      this.isStarting = false;
    }
  }

  private async startBatch(): Promise<void> {
    const { database, clock, mayWork } = this.options;
    const slots = new Map(
      [...this.ready].slice(0, WEBHOOK_BATCH).map((id) => [id, PER_WEBHOOK - (this.receivers.get(id)?.requests ?? 0)]),
    );
    for (const id of slots.keys()) this.ready.delete(id);
    const now = clock.now();
    const due = await listDueDeliveries(database.queryable, slots, {
      now,
      orderedSince: new Date(now.getTime() - ORDERED_MS),
      except: [...this.active],
    });
    if (this.isStopping || !mayWork()) return;
    for (const [id, free] of slots) {
      const deliveries = due.filter(({ webhook_id }) => webhook_id === id);
      const receiver = this.receiverOf(id);
      receiver.hasMore = deliveries.length === free;
      for (const delivery of deliveries) this.startDelivery(delivery);
      if (receiver.requests === 0) this.receivers.delete(id);
    }
  }

  private startDelivery(due: DueDelivery): void {
    this.active.add(due.id);
    const delivery = this.send(due).finally(() => {
      this.active.delete(due.id);
      this.running.delete(delivery);
      // The next event of the same object was waiting for this outcome.
      this.wake(due.webhook_id);
    });
    this.running.add(delivery);
  }

  private async send(due: DueDelivery): Promise<void> {
    const receiver = this.receiverOf(due.webhook_id);
    receiver.requests++;
    const result = await attemptDelivery(this.options, due, this.cut.signal);
    receiver.requests--;
    // The next deliveries can be sent while the outcome is stored. Finding several costs as much as
    // finding one.
    if (receiver.hasMore && receiver.requests <= PER_WEBHOOK / 2) this.wake(due.webhook_id);
    if (this.cut.signal.aborted && !result.succeeded) return;
    logOutcome(this.options.logger, due, result);
    await this.results.save(result);
  }

  private receiverOf(webhookId: string): Receiver {
    const receiver = this.receivers.get(webhookId) ?? { requests: 0, hasMore: false };
    this.receivers.set(webhookId, receiver);
    return receiver;
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../db/database.js';
import { type AttemptResult, saveAttempts } from '../db/tables/server/webhook-delivery.js';
import { backoffMs } from '../lib/backoff.js';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';

const SAVE_BACKOFF = { baseMs: 100, maxMs: 5000 };

interface WebhookResultsOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Stores outcomes of deliveries: all those together that came while the last ones were stored. */
export class WebhookResults {
  private unsaved: { readonly result: AttemptResult; readonly saved: () => void }[] = [];
  private isSaving = false;
  private onCut = (): void => undefined;

  /** After `cut` aborts, it does not wait for a database that does not answer. */
  constructor(
    private readonly options: WebhookResultsOptions,
    private readonly cut: AbortSignal,
  ) {
    cut.addEventListener('abort', () => this.onCut(), { once: true });
  }

  /** Settles when the outcome is stored, or `cut` aborted. */
  save(result: AttemptResult): Promise<void> {
    return new Promise((saved) => {
      this.unsaved.push({ result, saved });
      void this.saveAll();
    });
  }

  private async saveAll(): Promise<void> {
    if (this.isSaving) return;
    this.isSaving = true;
    while (this.unsaved.length > 0) {
      const batch = this.unsaved;
      this.unsaved = [];
      await this.saveBatch(batch.map(({ result }) => result));
      for (const { saved } of batch) saved();
    }
    this.isSaving = false;
  }

  private async saveBatch(results: readonly AttemptResult[]): Promise<void> {
    const { database, clock, logger } = this.options;
    for (let attempt = 1; !this.cut.aborted; attempt++) {
      try {
        return await this.untilCut(saveAttempts(database.queryable, results, clock.now()));
      } catch (error) {
        // Sending again instead would bring a receiver twice what it has taken.
        logger.warn({ err: error }, 'webhook delivery results not stored, retrying');
        await delay(backoffMs(attempt, SAVE_BACKOFF), undefined, { signal: this.cut }).catch(() => undefined);
      }
    }
  }

  private untilCut(saving: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.onCut = resolve;
      saving.then(resolve, reject);
    });
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../db/database.js';
import { type AttemptResult, saveAttempts } from '../db/tables/server/webhook-delivery.js';
import { backoffMs } from '../lib/backoff.js';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';

const SAVE_BACKOFF = { baseMs: 100, maxMs: 5000 };

interface ResultSaverOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Stores outcomes of deliveries, all those together that came while the last ones were stored. A save settles when its outcome
 * is stored, or `cut` aborted.
 */
export const createWebhookResultSaver = (
  { database, clock, logger }: ResultSaverOptions,
  cut: AbortSignal,
): ((result: AttemptResult) => Promise<void>) => {
  let unsaved: { readonly result: AttemptResult; readonly saved: () => void }[] = [];
  let isSaving = false;
  let onCut = (): void => undefined;
  cut.addEventListener('abort', () => onCut(), { once: true });

  /** Does not wait for a database that does not answer once `cut` has aborted. */
  const untilCut = (saving: Promise<void>): Promise<void> =>
    new Promise((resolve, reject) => {
      onCut = resolve;
      saving.then(resolve, reject);
    });

  const saveBatch = async (results: readonly AttemptResult[]): Promise<void> => {
    for (let attempt = 1; !cut.aborted; attempt++) {
      try {
        return await untilCut(saveAttempts(database.queryable, results, clock.now()));
      } catch (error) {
        // Sending again instead would bring a receiver twice what it has taken.
        logger.warn({ err: error }, 'webhook delivery results not stored, retrying');
        await delay(backoffMs(attempt, SAVE_BACKOFF), undefined, { signal: cut }).catch(() => undefined);
      }
    }
  };

  const saveAll = async (): Promise<void> => {
    if (isSaving) return;
    isSaving = true;
    while (unsaved.length > 0) {
      const batch = unsaved;
      unsaved = [];
      await saveBatch(batch.map(({ result }) => result));
      for (const { saved } of batch) saved();
    }
    isSaving = false;
  };

  return (result) =>
    new Promise((saved) => {
      unsaved.push({ result, saved });
      void saveAll();
    });
};

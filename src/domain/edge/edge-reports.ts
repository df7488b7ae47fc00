import { isKinoraError } from '../../lib/errors.js';
import type { Logger } from '../../telemetry/logger.js';
import { DELIVERIES_PATH, type EdgeDelivery, MAX_EDGE_DELIVERIES } from './edge-calls.js';

const REPORT_MS = 10_000;
/** About 20 MB, while the origin is unavailable. */
const MAX_WAITING = 100_000;

/** Counts what an edge sends and reports it to the origin. */
export class EdgeReports {
  readonly #report: (path: string, body: unknown) => Promise<unknown>;
  readonly #logger: Logger;
  readonly #counted = new Map<string, EdgeDelivery>();
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;
  #isDropping = false;
  #isStopping = false;

  /** @param report sends a body to a path of the origin */
  constructor(report: (path: string, body: unknown) => Promise<unknown>, logger: Logger, reportMs: number = REPORT_MS) {
    this.#report = report;
    this.#logger = logger;
    this.#timer = setInterval(() => {
      this.#running ??= this.#sendOrWarn().finally(() => {
        this.#running = undefined;
      });
    }, reportMs).unref();
  }

  /** @param isWhole false for a part, whose bytes count but not its playing time */
  count(sent: Omit<EdgeDelivery, 'count'>, isWhole = true): void {
    this.#add({ ...sent, count: isWhole ? 1 : 0 });
  }

  /** Reports what is counted. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
    this.#isStopping = true;
    await this.#sendOrWarn();
  }

  #add(sent: EdgeDelivery): void {
    const key = `${sent.playbackId} ${sent.rendition} ${sent.file} ${sent.live ?? ''}`;
    const before = this.#counted.get(key);
    if (!before && this.#counted.size >= MAX_WAITING) {
      if (!this.#isDropping)
        this.#logger.error({ segments: this.#counted.size }, 'delivery usage lost: too much waits for the origin');
      this.#isDropping = true;
      return;
    }
    const { count = 0, bytes = 0 } = before ?? {};
    this.#counted.set(key, { ...sent, count: count + sent.count, bytes: bytes + sent.bytes });
  }

  async #send(): Promise<void> {
    // What is counted meanwhile is reported the next time.
    for (let left = this.#counted.size; left > 0; left -= MAX_EDGE_DELIVERIES) {
      const batch = [...this.#counted].slice(0, MAX_EDGE_DELIVERIES);
      for (const [key] of batch) this.#counted.delete(key);
      const deliveries = batch.map(([, sent]) => sent);
      try {
        await this.#report(DELIVERIES_PATH, deliveries);
      } catch (error) {
        for (const sent of deliveries) this.#add(sent);
        throw error;
      }
    }
    this.#isDropping = false;
  }

  async #sendOrWarn(): Promise<void> {
    try {
      await this.#send();
    } catch (error) {
      const reason = isKinoraError(error, 'config_invalid') ? error.message : undefined;
      const fields = { err: error, reason, segments: this.#counted.size };
      if (this.#isStopping) this.#logger.error(fields, 'delivery usage lost: not reported before the stop');
      else this.#logger.warn(fields, 'delivery usage not reported, retrying');
    }
  }
}

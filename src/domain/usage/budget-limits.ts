import type { BudgetState, SpentBudget } from '../../db/tables/playback/delivery-budget.js';
import type { Clock } from '../../lib/clock.js';
import type { Logger } from '../../telemetry/logger.js';
import { periodEnd } from './budget-period.js';

/** What the budgets of an asset and its environment leave of playback. */
export type PlaybackLimit = 'step_down' | 'stop';

interface BudgetLimitsOptions {
  /** Reads the budgets: from the database, or at the origin of an edge. */
  readonly read: (now: Date) => Promise<Pick<BudgetState, 'spent' | 'exist'>>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How often they are read; 5 s by default. */
  readonly readMs?: number;
}

interface Limit {
  readonly limit: PlaybackLimit;
  /** The end of the period. */
  readonly untilMs: number;
}

const READ_MS = 5000;

/**
 * Which budgets are spent, in memory: no request waits for them. They are read every few seconds,
 * and at once when a notification says that they have changed. While they can't be read, the last
 * ones apply until their period ends.
 */
export class BudgetLimits {
  readonly #options: BudgetLimitsOptions;
  readonly #timer: NodeJS.Timeout;
  #byEnvironment: ReadonlyMap<string, readonly Limit[]> = new Map();
  #byAsset: ReadonlyMap<string, readonly Limit[]> = new Map();
  #running: Promise<void> | undefined;
  #exist = false;
  #isOutdated = false;
  #hasFailed = false;

  constructor(options: BudgetLimitsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.refresh(), options.readMs ?? READ_MS).unref();
  }

  /** Whether there is any budget, so that deliveries should be stored soon. */
  get exist(): boolean {
    return this.#exist;
  }

  /** Undefined when playback is not limited. */
  of({ environmentId, assetId }: { environmentId: string; assetId: string }): PlaybackLimit | undefined {
    if (this.#byEnvironment.size === 0 && this.#byAsset.size === 0) return undefined;
    const spent = [...(this.#byEnvironment.get(environmentId) ?? []), ...(this.#byAsset.get(assetId) ?? [])];
    if (spent.length === 0) return undefined;
    const nowMs = this.#options.clock.now().getTime();
    const limits = spent.filter(({ untilMs }) => nowMs < untilMs).map(({ limit }) => limit);
    return limits.includes('stop') ? 'stop' : limits[0];
  }

  /** Reads the budgets again; a failure is logged. */
  refresh(): Promise<void> {
    this.#isOutdated = true;
    this.#running ??= this.#readAll().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  async #readAll(): Promise<void> {
    const { read, clock, logger } = this.#options;
    try {
      while (this.#isOutdated) {
        // A change during the read makes it be read again.
        this.#isOutdated = false;
        const { exist, spent } = await read(clock.now());
        this.#exist = exist;
        this.#apply(spent);
      }
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) logger.warn({ err: error }, 'delivery budgets not read, retrying');
      this.#hasFailed = true;
    }
  }

  #apply(spent: readonly SpentBudget[]): void {
    const [environments, assets] = [new Map<string, Limit[]>(), new Map<string, Limit[]>()];
    for (const { environment_id, asset_id, period, period_start, action } of spent) {
      if (action === 'notify') continue;
      const limit = { limit: action, untilMs: periodEnd(period, new Date(period_start)).getTime() };
      const [limits, id] = asset_id === null ? [environments, environment_id] : [assets, asset_id];
      limits.set(id, [...(limits.get(id) ?? []), limit]);
    }
    this.#byEnvironment = environments;
    this.#byAsset = assets;
  }
}

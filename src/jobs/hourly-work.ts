import type { Logger } from '../telemetry/logger.js';

const INTERVAL_MS = 60 * 60_000;

/** Runs some work every hour, never concurrently. */
export class HourlyWork {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<unknown> | undefined;
  private isStopping = false;

  /**
   * @param run what `isStopping` tells to end early
   * @param failure the log message for a failed run; the next hour tries again
   */
  constructor(
    private readonly run: (isStopping: () => boolean) => Promise<unknown>,
    private readonly logger: Logger,
    private readonly failure: string,
  ) {}

  /** Runs now, and then every hour. */
  start(): void {
    this.tick();
    this.timer = setInterval(() => this.tick(), INTERVAL_MS);
  }

  /** Waits for a current run. */
  async stop(): Promise<void> {
    this.isStopping = true;
    clearInterval(this.timer);
    await this.running;
  }

  private tick(): void {
    this.running ??= this.run(() => this.isStopping)
      .catch((error) => this.logger.warn({ err: error }, this.failure))
      .finally(() => {
        this.running = undefined;
      });
  }
}

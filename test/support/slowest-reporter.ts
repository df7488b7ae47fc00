import type { Reporter, TestCase, TestModule } from 'vitest/node';

const SHOWN = 10;
const LONG_MS = 5 * 60_000;
const LOOK_EVERY_MS = 60_000;

/**
 * Prints at the end which files took longest, and meanwhile which ones take long: a run that is
 * stopped from outside shows what it waited for.
 */
export default class SlowestReporter implements Reporter {
  /** When the files and tests that run now began. */
  readonly #startedMs = new Map<TestModule | TestCase, number>();
  #timer: NodeJS.Timeout | undefined;

  onTestRunStart(): void {
    this.#timer = setInterval(() => this.#printLong(), LOOK_EVERY_MS).unref();
  }

  onTestModuleQueued(module: TestModule): void {
    this.#startedMs.set(module, performance.now());
  }

  onTestModuleEnd(module: TestModule): void {
    this.#startedMs.delete(module);
  }

  onTestCaseReady(test: TestCase): void {
    this.#startedMs.set(test, performance.now());
  }

  onTestCaseResult(test: TestCase): void {
    this.#startedMs.delete(test);
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    clearInterval(this.#timer);
    if (modules.length <= SHOWN) return;
    const timed = modules.map((module) => {
      const { collectDuration, setupDuration, duration } = module.diagnostic();
      return { name: module.relativeModuleId, seconds: (collectDuration + setupDuration + duration) / 1000 };
    });
    const slowest = timed.sort((a, b) => b.seconds - a.seconds).slice(0, SHOWN);
    console.log('\nSlowest files:');
    for (const { name, seconds } of slowest) console.log(`${seconds.toFixed(1).padStart(7)} s  ${name}`);
  }

  #printLong(): void {
    for (const [running, startedMs] of this.#startedMs) {
      const ms = performance.now() - startedMs;
      const name = running.type === 'module' ? running.relativeModuleId : running.fullName;
      if (ms >= LONG_MS) console.log(`still running after ${Math.round(ms / 1000)} s: ${name}`);
    }
  }
}

import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

const SHOWN = 10;
const LONG_MS = 5 * 60_000;
const LOOK_EVERY_MS = 60_000;

/**
 * Prints at the end which files took longest, and meanwhile which ones take long and why tests
 * fail: a run that is stopped from outside shows what it waited for.
 */
export default class SlowestReporter implements Reporter {
  /** The files and tests that run now, by ID: an end may come with another object. */
  readonly #running = new Map<string, { readonly name: string; readonly startedMs: number }>();
  #timer: NodeJS.Timeout | undefined;

  onTestRunStart(): void {
    this.#timer = setInterval(() => this.#printLong(), LOOK_EVERY_MS).unref();
  }

  onTestModuleQueued({ id, relativeModuleId }: TestModule): void {
    this.#begin(id, relativeModuleId);
  }

  onTestModuleEnd({ id }: TestModule): void {
    this.#running.delete(id);
  }

  onTestCaseReady({ id, fullName }: TestCase): void {
    this.#begin(id, fullName);
  }

  onTestCaseResult(test: TestCase): void {
    this.#running.delete(test.id);
    for (const { message, cause, stacks: [frame] = [] } of test.result().errors ?? []) {
      const place = frame ? ` (${relative('.', frame.file)}:${frame.line})` : '';
      const reason = cause ? `: ${cause.message}` : '';
      console.log(`failed: ${test.module.relativeModuleId} > ${test.fullName}: ${message}${reason}${place}`);
    }
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

  #begin(id: string, name: string): void {
    this.#running.set(id, { name, startedMs: performance.now() });
  }

  #printLong(): void {
    for (const { name, startedMs } of this.#running.values()) {
      const ms = performance.now() - startedMs;
      if (ms >= LONG_MS) console.log(`still running after ${Math.round(ms / 1000)} s: ${name}`);
    }
  }
}

import type { Reporter, TestModule } from 'vitest/node';

const SHOWN = 10;

/** Prints at the end which files took longest. */
export default class SlowestReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= SHOWN) return;
    const timed = modules.map((module) => {
      const { collectDuration, setupDuration, duration } = module.diagnostic();
      return { name: module.relativeModuleId, seconds: (collectDuration + setupDuration + duration) / 1000 };
    });
    const slowest = timed.sort((a, b) => b.seconds - a.seconds).slice(0, SHOWN);
    console.log('\nSlowest files:');
    for (const { name, seconds } of slowest) console.log(`${seconds.toFixed(1).padStart(7)} s  ${name}`);
  }
}

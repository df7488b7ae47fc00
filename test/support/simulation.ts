import { AsyncLocalStorage } from 'node:async_hooks';
import { vi } from 'vitest';
import type { Clock } from '../../src/lib/clock.js';

interface Happening {
  readonly owner: SimulatedProcess;
  readonly run: () => void;
  /** Of a network: a process that was frozen sees these before its timers. */
  readonly isInput: boolean;
  atMs: number;
  sequence: number;
}

const current = new AsyncLocalStorage<SimulatedProcess>();
const settle = setImmediate;

/**
 * A process of a simulation: it has timers of its own, can be frozen and killed, and all share one
 * clock.
 */
export class SimulatedProcess {
  readonly id: number;
  isKilled = false;
  frozenUntilMs = 0;

  constructor(id: number) {
    this.id = id;
  }
}

/**
 * Many processes in simulated time. While it runs, `setTimeout` and `setInterval` belong to the
 * process that calls them. Nothing is random here: the same calls give the same run.
 */
export class Simulation {
  readonly clock: Clock = { now: () => new Date(this.nowMs), monotonicMs: () => this.nowMs };
  nowMs = 0;
  readonly #happenings = new Set<Happening>();
  #sequence = 0;

  constructor() {
    const repeat = (run: () => void, ms: number): { at: Happening } => {
      const timer = {} as { at: Happening };
      const again = (): void => {
        timer.at = this.#add(ms, false, again);
        run();
      };
      timer.at = this.#add(ms, false, again);
      return timer;
    };
    vi.stubGlobal('setTimeout', (run: () => void, ms = 1) => ({ at: this.#add(ms, false, run) }));
    vi.stubGlobal('setInterval', repeat);
    const clear = (timer?: { at: Happening }) => timer && this.#happenings.delete(timer.at);
    vi.stubGlobal('clearTimeout', clear);
    vi.stubGlobal('clearInterval', clear);
  }

  /** Runs `work` as part of the process. */
  as(owner: SimulatedProcess, work: () => void): void {
    current.run(owner, work);
  }

  /** Something reaches the process that calls this, from outside. */
  arrive(afterMs: number, run: () => void): void {
    this.#add(afterMs, true, run);
  }

  /** Goes on until `untilMs`, and calls `check` after everything that happens. */
  async run(untilMs: number, check: () => void): Promise<void> {
    for (;;) {
      const next = this.#next();
      if (!next || next.atMs > untilMs) break;
      this.#happenings.delete(next);
      this.nowMs = Math.max(this.nowMs, next.atMs);
      const { owner } = next;
      if (owner.isKilled) continue;
      if (owner.frozenUntilMs > this.nowMs) {
        next.atMs = owner.frozenUntilMs;
        if (next.isInput) next.sequence -= 1e9;
        this.#happenings.add(next);
        continue;
      }
      current.run(owner, next.run);
      await new Promise((resolve) => settle(resolve));
      check();
    }
    this.nowMs = untilMs;
  }

  /** Gives the timers back. */
  end(): void {
    vi.unstubAllGlobals();
  }

  #add(afterMs: number, isInput: boolean, run: () => void): Happening {
    const owner = current.getStore();
    if (!owner) throw new Error('a timer outside of a simulated process');
    const happening = { owner, run, isInput, atMs: this.nowMs + Math.max(1, afterMs), sequence: this.#sequence++ };
    this.#happenings.add(happening);
    return happening;
  }

  #next(): Happening | undefined {
    let next: Happening | undefined;
    for (const each of this.#happenings) {
      const isEarlier = !next || each.atMs < next.atMs || (each.atMs === next.atMs && each.sequence < next.sequence);
      if (isEarlier) next = each;
    }
    return next;
  }
}

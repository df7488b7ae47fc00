import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';
import type { Metrics } from '../telemetry/metrics.js';
import { type MediaProcess, startMediaProcess } from './media-process.js';
import type { Sandbox } from './sandbox.js';

export interface ProcessesOptions {
  readonly sandbox: Sandbox;
  /** A process that was started already and waits. */
  readonly first: MediaProcess;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
}

/** What a job requires of its process. */
export interface ProcessNeeds {
  readonly background: boolean;
  /** The process has not run another job. */
  readonly fresh: boolean;
}

/** The media processes of a pool. */
export interface Processes {
  /**
   * Returns a waiting process that fits, or a new one. At most `room` processes for viewers and one for background
   * work remain waiting.
   */
  acquire(needs: ProcessNeeds, room: number): MediaProcess;
  /** Keeps the process for the next job. */
  keep(child: MediaProcess): void;
  retire(child: MediaProcess): Promise<void>;
  /** Starts a process for viewers unless one is waiting. */
  keepOneWarm(): void;
  /** Starts a process for the next fresh job, and others until `count` wait, unless they are waiting already. */
  prepare(count: number): void;
  /** Ends waiting processes except one that has not run a job. */
  retireSurplus(): void;
  /** Rejects when no process can be started. */
  check(): Promise<void>;
  stop(): Promise<void>;
}

/** Sorts fastest first: processes whose code is compiled and whose sources are open. */
const bySpeed = (waiting: MediaProcess[]): MediaProcess[] => waiting.sort((a, b) => b.jobsStarted - a.jobsStarted);

export const createProcesses = ({ sandbox, first, clock, logger, metrics }: ProcessesOptions): Processes => {
  const processes = new Set<MediaProcess>();
  const idle = new Set<MediaProcess>();
  /** Waits for the next fresh job. */
  let reserved: MediaProcess | undefined;
  let stopped = false;

  const watch = (child: MediaProcess): MediaProcess => {
    processes.add(child);
    void child.closed.then(() => {
      processes.delete(child);
      if (!idle.delete(child) || stopped) return;
      metrics?.mediaProcessLost('idle');
      logger.warn({}, 'idle media process exited');
    });
    return child;
  };
  const start = (background: boolean): MediaProcess =>
    watch(startMediaProcess(sandbox.command(background), background, clock));
  idle.add(watch(first));

  const startIdle = (): MediaProcess => {
    const child = start(false);
    idle.add(child);
    return child;
  };

  const listIdle = (): MediaProcess[] => [...idle].filter((child) => child.alive && !child.background);

  const retire = (child: MediaProcess): Promise<void> => {
    idle.delete(child);
    return child.kill();
  };

  return {
    acquire: ({ background, fresh }, room) => {
      const usable = [...idle].filter(
        (child) => child.alive && child.background === background && (!fresh || child.jobsStarted === 0),
      );
      const others = usable.filter((child) => child !== reserved);
      const child =
        (fresh && usable.find((each) => each === reserved)) || bySpeed(others)[0] || usable[0] || start(background);
      idle.delete(child);
      if (child === reserved) reserved = undefined;
      const waiting = [...idle].filter((each) => each !== reserved);
      const forViewers = waiting.filter((each) => !each.background);
      const forBackground = waiting.filter((each) => each.background);
      for (const surplus of [...bySpeed(forViewers).slice(room), ...forBackground.slice(1)]) void retire(surplus);
      return child;
    },
    keep: (child) => void idle.add(child),
    retire,
    keepOneWarm: () => {
      if (!stopped && ![...idle].some((child) => !child.background)) startIdle();
    },
    prepare: (count) => {
      if (!reserved || !idle.has(reserved)) {
        reserved = listIdle().find(({ jobsStarted }) => jobsStarted === 0) ?? startIdle();
      }
      for (let waiting = listIdle().length - 1; waiting < count; waiting += 1) startIdle();
    },
    retireSurplus: () => {
      reserved = undefined;
      const kept = listIdle().find(({ jobsStarted }) => jobsStarted === 0);
      for (const child of [...idle]) if (child !== kept) void retire(child);
    },
    check: async () => {
      await Promise.any([...processes].map(({ started }) => started));
    },
    stop: async () => {
      stopped = true;
      await Promise.all([...processes].map((child) => child.kill()));
    },
  };
};

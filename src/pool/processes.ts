import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';
import type { Metrics } from '../telemetry/metrics.js';
import { MediaProcess } from './media-process.js';
import type { Sandbox } from './sandbox.js';

interface ProcessesOptions {
  readonly sandbox: Sandbox;
  /** A process that was started already and waits. */
  readonly first: MediaProcess;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
}

/** What a job requires of its process. */
interface ProcessNeeds {
  readonly background: boolean;
  /** The process has not run another job, but for those on `ownFile`. */
  readonly fresh: boolean;
  readonly ownFile?: string | undefined;
}

/** How long a process waits for the next job on its file: until missing parts are fetched. */
const KEPT_MS = 10_000;
const MAX_KEPT = 4;

/** Sorts fastest first: processes whose code is compiled and whose sources are open. */
const bySpeed = (waiting: MediaProcess[]): MediaProcess[] => waiting.sort((a, b) => b.jobsStarted - a.jobsStarted);

/** The media processes of a pool: those that run a job, and idle ones that wait for one. */
export class Processes {
  private readonly all = new Set<MediaProcess>();
  private readonly idle = new Set<MediaProcess>();
  /** Waits for the next fresh job. */
  private reserved: MediaProcess | undefined;
  /** Processes that have seen one file, by that file. */
  private readonly waitingByFile = new Map<string, { readonly child: MediaProcess; readonly limit: NodeJS.Timeout }>();
  private isStopped = false;

  constructor(private readonly options: ProcessesOptions) {
    this.idle.add(this.watch(options.first));
  }

  /**
   * Returns an idle process that fits, or a new one. At most `room` processes for viewers and one
   * for background work remain idle.
   */
  acquire({ background, fresh, ownFile }: ProcessNeeds, room: number): MediaProcess {
    const own = ownFile === undefined ? undefined : this.takeOwn(ownFile);
    if (own) return own;
    const usable = [...this.idle].filter(
      (child) => child.alive && child.background === background && (!fresh || child.jobsStarted === 0),
    );
    const others = usable.filter((child) => child !== this.reserved);
    const child =
      (fresh && usable.find((each) => each === this.reserved)) ||
      bySpeed(others)[0] ||
      usable[0] ||
      this.start(background);
    this.idle.delete(child);
    if (child === this.reserved) this.reserved = undefined;
    const waiting = [...this.idle].filter((each) => each !== this.reserved);
    const forViewers = waiting.filter((each) => !each.background);
    const forBackground = waiting.filter((each) => each.background);
    for (const surplus of [...bySpeed(forViewers).slice(room), ...forBackground.slice(1)]) void this.retire(surplus);
    return child;
  }

  /** Keeps the process for the next job. */
  release(child: MediaProcess): void {
    this.idle.add(child);
  }

  /** Keeps the process for the next fresh job on this file. */
  keep(child: MediaProcess, ownFile: string): void {
    const other = this.takeOwn(ownFile);
    if (other) void this.retire(other);
    if (this.waitingByFile.size >= MAX_KEPT) return void this.retire(child);
    const end = (): void => void this.takeOwn(ownFile)?.kill();
    this.waitingByFile.set(ownFile, { child, limit: setTimeout(end, KEPT_MS).unref() });
  }

  retire(child: MediaProcess): Promise<void> {
    this.idle.delete(child);
    return child.kill();
  }

  /** Starts a process for viewers unless one is idle. */
  keepOneWarm(): void {
    if (!this.isStopped && ![...this.idle].some((child) => !child.background)) this.startIdle();
  }

  /**
   * Starts a process for the next fresh job, and others until `count` are idle, unless they are
   * already.
   */
  prepare(count: number): void {
    if (!this.reserved || !this.idle.has(this.reserved)) {
      this.reserved = this.listIdle().find(({ jobsStarted }) => jobsStarted === 0) ?? this.startIdle();
    }
    for (let waiting = this.listIdle().length - 1; waiting < count; waiting += 1) this.startIdle();
  }

  /** Ends idle processes except one that has not run a job. */
  retireSurplus(): void {
    this.reserved = undefined;
    const unused = this.listIdle().find(({ jobsStarted }) => jobsStarted === 0);
    for (const child of [...this.idle]) if (child !== unused) void this.retire(child);
  }

  /** Rejects when no process can be started. */
  async check(): Promise<void> {
    await Promise.any([...this.all].map(({ started }) => started));
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all([...this.all].map((child) => child.kill()));
  }

  private takeOwn(ownFile: string): MediaProcess | undefined {
    const waiting = this.waitingByFile.get(ownFile);
    if (!waiting) return undefined;
    clearTimeout(waiting.limit);
    this.waitingByFile.delete(ownFile);
    return waiting.child.alive ? waiting.child : undefined;
  }

  private listIdle(): MediaProcess[] {
    return [...this.idle].filter((child) => child.alive && !child.background);
  }

  private startIdle(): MediaProcess {
    const child = this.start(false);
    this.idle.add(child);
    return child;
  }

  private start(background: boolean): MediaProcess {
    const { sandbox, clock } = this.options;
    return this.watch(new MediaProcess(sandbox.command, background, clock));
  }

  private watch(child: MediaProcess): MediaProcess {
    const { logger, metrics } = this.options;
    this.all.add(child);
    void child.closed.then(() => {
      this.all.delete(child);
      if (!this.idle.delete(child) || this.isStopped) return;
      metrics?.mediaProcessLost('idle');
      logger.warn({}, 'idle media process exited');
    });
    return child;
  }
}

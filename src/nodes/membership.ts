import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database.js';
import { beat, deleteNode, type NodeRow, releaseLease, takeLease } from '../db/tables/server/node.js';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';
import { LEASE_SECONDS, Leadership, type LeaderTask } from './leadership.js';
import { rendezvous } from './rendezvous.js';

export interface LiveNode {
  readonly id: string;
  /** Base URL for requests of other servers. */
  readonly internalUrl: string;
  readonly roles: readonly string[];
  /** See `GENERATION`. */
  readonly generation: number;
}

/** Another server, as it was seen last. */
export interface OtherNode extends LiveNode {
  /**
   * The assets that play there before they are ready, and the playback IDs of such uploads. Of live
   * streams: the ID with which it owns them, and what is on air there, by live stream and asset.
   */
  readonly early: readonly string[];
}

interface MembershipOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly self: LiveNode;
  /** See `OtherNode`. */
  readonly early: () => readonly string[];
  /** How long a server that is stopping still responds. */
  readonly drainMs: number;
}

const BEAT_MS = 2000;
/** Three missed beats, and time for a slow database. */
export const LIVE_SECONDS = 8;
const AVOID_MS = 4000;

/**
 * The servers that share the database and the bucket. Announces this one and keeps the list of the
 * others, which stays as it is while the database is unavailable.
 */
export class Membership {
  readonly self: LiveNode;
  readonly #options: MembershipOptions;
  readonly #avoidedUntilMs = new Map<string, number>();
  readonly #leaderships: Leadership[] = [];
  #rows: readonly NodeRow[] = [];
  #beating: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isDraining = false;
  #isStopped = false;

  private constructor(options: MembershipOptions) {
    this.#options = options;
    this.self = options.self;
  }

  static async join(options: MembershipOptions): Promise<Membership> {
    const membership = new Membership(options);
    await membership.#beat();
    membership.#timer = setInterval(() => membership.announce(), BEAT_MS);
    return membership;
  }

  /** Those that were seen lately, without this one and those that are stopping. */
  others(): readonly OtherNode[] {
    return this.#rows
      .filter(({ draining }) => !draining)
      .map(({ internal_url: internalUrl, ...rest }) => ({ ...rest, internalUrl }));
  }

  /**
   * The servers that create segments of this generation, in the order in which they should be asked
   * for this key. This one is among them if it does.
   */
  owners(key: string, generation: number): readonly LiveNode[] {
    const nowMs = this.#options.clock.monotonicMs();
    const isUsable = (node: LiveNode) =>
      node.generation === generation &&
      node.roles.includes('stream') &&
      (this.#avoidedUntilMs.get(node.id) ?? Number.NEGATIVE_INFINITY) <= nowMs;
    const usable = this.others().filter(isUsable);
    const isLeaving = generation !== this.self.generation || (this.#isDraining && usable.length > 0);
    return rendezvous(isLeaving ? usable : [...usable, this.self], key);
  }

  /** Tells the others of a change without waiting for the next heartbeat. */
  announce(): void {
    void this.refresh();
  }

  /** Also reads what the others have announced. */
  refresh(): Promise<void> {
    return this.#beatOnce();
  }

  /** Leaves out a server that did not respond until it has had time to recover. */
  avoid(id: string): void {
    this.#avoidedUntilMs.set(id, this.#options.clock.monotonicMs() + AVOID_MS);
  }

  /**
   * Runs the task whenever no other server does, until it is stopped or this server is. The row
   * decides who holds the lease.
   */
  lead(name: string, task: LeaderTask): Pick<Leadership, 'stop'> {
    const { database, clock, logger } = this.#options;
    const db = database.queryable;
    const holderOf = (holder: string) => `${this.self.id}.${holder}`;
    const leadership = new Leadership({
      name,
      task,
      clock,
      logger,
      take: (holder) => takeLease(db, { name, holder: holderOf(holder), seconds: LEASE_SECONDS }),
      release: (holder) => releaseLease(db, { name, holder: holderOf(holder) }),
    });
    this.#leaderships.push(leadership);
    return leadership;
  }

  /**
   * Tells the others that this server is stopping, and gives them time to notice; returns at once
   * if there are none.
   */
  async drain(): Promise<void> {
    this.#isDraining = true;
    // Another server takes the tasks over while this one still responds.
    for (const leadership of this.#leaderships) void leadership.stop();
    await this.#beating;
    await this.#beatOnce();
    if (this.others().length > 0) await sleep(this.#options.drainMs);
  }

  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#beating;
    await Promise.all(this.#leaderships.map((leadership) => leadership.stop()));
    await deleteNode(this.#options.database.queryable, this.self.id).catch(() => undefined);
  }

  #beatOnce(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => {
      this.#beating = undefined;
    });
    return this.#beating;
  }

  async #beat(): Promise<void> {
    const { database, logger, early } = this.#options;
    const { id, internalUrl, roles, generation } = this.self;
    const row = {
      id,
      internal_url: internalUrl,
      draining: this.#isDraining,
      roles: [...roles],
      generation,
      early: [...early()],
    };
    try {
      this.#rows = await beat(database.queryable, row, LIVE_SECONDS);
    } catch (error) {
      logger.warn({ err: error }, 'list of servers not refreshed');
    }
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database.js';
import { beat, deleteNode, type NodeRow, releaseLease, takeLease } from '../db/tables/server/node.js';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';
import { LEASE_SECONDS, Leadership, type LedWork } from './leadership.js';
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
  /** The assets that play there before they are ready, and the playback IDs of such uploads. */
  readonly early: readonly string[];
}

/** The servers that share the database and the bucket. */
export interface LiveNodes {
  readonly self: LiveNode;
  /** Those that were seen lately, without this one and those that are stopping. */
  others(): readonly OtherNode[];
  /**
   * The servers that make segments of this generation, in the order in which they should be asked for this key. This one
   * is among them if it does.
   */
  owners(key: string, generation: number): readonly LiveNode[];
  /** Tells the others of a change without waiting for the next heartbeat. */
  announce(): void;
  /** Leaves out a server that did not answer until it has had time to recover. */
  avoid(id: string): void;
  /** Does the work whenever no other server does it, until it is stopped or this server is. */
  lead(name: string, work: LedWork): Pick<Leadership, 'stop'>;
  /** Tells the others that this server is stopping, and gives them time to notice; returns at once if there are none. */
  drain(): Promise<void>;
  stop(): Promise<void>;
}

interface LiveNodesOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly self: LiveNode;
  /** See `OtherNode`. */
  readonly early: () => readonly string[];
  /** How long a server that is stopping still answers. */
  readonly drainMs: number;
}

const BEAT_MS = 2000;
/** Three missed beats, and time for a slow database. */
export const LIVE_SECONDS = 8;
const AVOID_MS = 4000;

/** Announces this server and keeps the list of the others. The list stays as it is while the database is unavailable. */
export const startLiveNodes = async (options: LiveNodesOptions): Promise<LiveNodes> => {
  const { database, clock, logger, self, early, drainMs } = options;
  const db = database.queryable;
  let draining = false;
  let stopped = false;
  let known: readonly NodeRow[] = [];
  let beating: Promise<void> | undefined;
  const avoidedUntilMs = new Map<string, number>();
  const led: Leadership[] = [];

  const beatOnce = async (): Promise<void> => {
    try {
      known = await beat(
        db,
        {
          ...{ id: self.id, internal_url: self.internalUrl, draining },
          ...{ roles: [...self.roles], generation: self.generation, early: [...early()] },
        },
        LIVE_SECONDS,
      );
    } catch (error) {
      logger.warn({ err: error }, 'list of servers not refreshed');
    }
  };
  const beatNow = (): Promise<void> => {
    beating ??= beatOnce().finally(() => {
      beating = undefined;
    });
    return beating;
  };

  await beatOnce();
  const timer = setInterval(() => void beatNow(), BEAT_MS);
  const others = (): OtherNode[] =>
    known
      .filter(({ draining }) => !draining)
      .map(({ internal_url: internalUrl, ...rest }) => ({ ...rest, internalUrl }));

  return {
    self,
    others,
    owners: (key, generation) => {
      const nowMs = clock.monotonicMs();
      const isUsable = (node: LiveNode) =>
        node.generation === generation &&
        node.roles.includes('stream') &&
        (avoidedUntilMs.get(node.id) ?? Number.NEGATIVE_INFINITY) <= nowMs;
      const usable = others().filter(isUsable);
      const isLeft = generation !== self.generation || (draining && usable.length > 0);
      return rendezvous(isLeft ? usable : [...usable, self], key);
    },
    announce: () => void beatNow(),
    avoid: (id) => void avoidedUntilMs.set(id, clock.monotonicMs() + AVOID_MS),
    lead: (name, work) => {
      const leadership = new Leadership({
        ...{ name, work, clock, logger },
        take: (holder) => takeLease(db, { name, holder: `${self.id}.${holder}`, seconds: LEASE_SECONDS }),
        release: (holder) => releaseLease(db, { name, holder: `${self.id}.${holder}` }),
      });
      led.push(leadership);
      return leadership;
    },
    drain: async () => {
      draining = true;
      // Another server takes the work over while this one still answers.
      for (const leadership of led) void leadership.stop();
      await beating;
      await beatNow();
      if (others().length > 0) await sleep(drainMs);
    },
    stop: async () => {
      if (stopped) return;
      stopped = true;
      clearInterval(timer);
      await beating;
      await Promise.all(led.map((leadership) => leadership.stop()));
      await deleteNode(db, self.id).catch(() => undefined);
    },
  };
};

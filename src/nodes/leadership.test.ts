import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { quietLogger } from '../../test/support/logger.js';
import { SimulatedProcess, Simulation } from '../../test/support/simulation.js';
import { LEASE_SECONDS, Leadership, type LeaderTask } from './leadership.js';

const SERVERS = 3;
/** Faults begin within this time. */
const FAULTS_MS = 60_000;
/** Longer than a fault, the longest pause between two tries and a lease together. */
const QUIET_MS = 150_000;
/** A query without a response fails after this time. */
const QUERY_LIMIT_MS = 15_000;
const END_LIMIT_MS = 2000;
/** Of one server at a time. */
const REQUESTS = 8;

interface Fault {
  /**
   * `silent`: queries are executed when it is over; `refused`: they fail at once; `unanswered`:
   * they are executed, and the server is not told; `frozen` and `killed`: the server; `begin`: its
   * work can't be started.
   */
  readonly kind: 'silent' | 'refused' | 'unanswered' | 'frozen' | 'killed' | 'begin';
  readonly server: number;
  readonly atMs: number;
  readonly lengthMs: number;
}

/** Small numbers from a seed. */
const createRandom = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
};

/** The database, the receiver of events, and what is known of each server. */
class World {
  readonly simulation = new Simulation();
  readonly servers = Array.from({ length: SERVERS }, (_, id) => new SimulatedProcess(id));
  readonly handlers = new Set<number>();
  readonly received = new Set<number>();
  readonly mayWork: (() => boolean)[] = this.servers.map(() => () => false);
  /** Requests under way: which server sent them. */
  readonly sending = new Set<{ readonly server: number; readonly sinceMs: number }>();
  readonly delivered = new Set<number>();
  readonly leaderships: Leadership[] = [];
  begun = 0;
  #lease: { holder: string; untilMs: number } | undefined;
  readonly #faults: readonly Fault[];
  readonly #random: (below: number) => number;

  constructor(faults: readonly Fault[], seed: number) {
    this.#faults = faults;
    this.#random = createRandom(seed);
    for (const { kind, server, atMs, lengthMs } of faults) {
      const victim = this.servers[server]!;
      if (kind === 'killed')
        this.#at(atMs, () => {
          victim.isKilled = true;
        });
      if (kind === 'frozen')
        this.#at(atMs, () => {
          victim.frozenUntilMs = atMs + lengthMs;
        });
    }
    for (const server of this.servers) this.simulation.as(server, () => this.#start(server));
  }

  isAlive(server: number): boolean {
    return !this.servers[server]!.isKilled;
  }

  /** An event every 500 ms while there are faults. */
  get events(): number[] {
    const count = Math.floor(Math.min(this.simulation.nowMs, FAULTS_MS) / 500);
    return Array.from({ length: count }, (_, event) => event);
  }

  /** In a process without faults. */
  #at(ms: number, run: () => void): void {
    this.simulation.as(new SimulatedProcess(-1), () => void setTimeout(run, ms));
  }

  #fault(server: number, kinds: readonly Fault['kind'][]): Fault | undefined {
    const { nowMs } = this.simulation;
    return this.#faults.find(
      (each) =>
        each.server === server && kinds.includes(each.kind) && each.atMs <= nowMs && nowMs < each.atMs + each.lengthMs,
    );
  }

  #query<T>(server: number, statement: () => T): Promise<T> {
    const fault = this.#fault(server, ['silent', 'refused', 'unanswered']);
    return new Promise((resolve, reject) => {
      const fail = (afterMs: number) => this.simulation.arrive(afterMs, () => reject(new Error(fault?.kind)));
      if (fault?.kind === 'refused') return fail(1 + this.#random(20));
      const executedMs =
        fault?.kind === 'silent'
          ? fault.atMs + fault.lengthMs - this.simulation.nowMs + this.#random(5000)
          : 1 + this.#random(this.#random(4) === 0 ? 1000 : 30);
      const responseMs = executedMs + 1 + this.#random(200);
      const isResponded = fault?.kind !== 'unanswered' && responseMs < QUERY_LIMIT_MS;
      const origin = new SimulatedProcess(-1);
      let result: T;
      // Executed even if the server is gone.
      this.simulation.as(origin, () =>
        setTimeout(() => {
          result = statement();
        }, executedMs),
      );
      if (isResponded) this.simulation.arrive(responseMs, () => resolve(result));
      else fail(QUERY_LIMIT_MS);
    });
  }

  #start(server: SimulatedProcess): void {
    const leadership = new Leadership({
      name: 'events',
      task: this.#createTask(server.id),
      take: (holder) =>
        this.#query(server.id, () => {
          const { nowMs } = this.simulation;
          const isFree = !this.#lease || this.#lease.holder === holder || this.#lease.untilMs < nowMs;
          if (isFree) this.#lease = { holder, untilMs: nowMs + LEASE_SECONDS * 1000 };
          return isFree;
        }),
      release: (holder) =>
        this.#query(server.id, () => {
          if (this.#lease?.holder === holder) this.#lease = undefined;
        }),
      clock: this.simulation.clock,
      logger: quietLogger,
    });
    this.leaderships.push(leadership);
  }

  /** Sends events like the sender of webhooks. */
  #createTask(server: number): LeaderTask {
    let stop: () => Promise<void>;
    return {
      start: async (mayWork) => {
        this.begun += 1;
        this.handlers.add(server);
        const isBroken = this.#fault(server, ['begin']) !== undefined;
        try {
          await this.#query(server, () => undefined);
          if (isBroken) throw new Error('not begun');
        } catch (error) {
          this.handlers.delete(server);
          throw error;
        }
        this.mayWork[server] = mayWork;
        stop = this.#sendAll(server, mayWork);
      },
      stop: async () => {
        this.handlers.delete(server);
        await stop();
      },
    };
  }

  #sendAll(server: number, mayWork: () => boolean): () => Promise<void> {
    let isStopping = false;
    const cuts = new Set<() => void>();
    const send = async (event: number): Promise<void> => {
      const request = { server, sinceMs: this.simulation.nowMs };
      this.sending.add(request);
      await new Promise<void>((resolve) => {
        cuts.add(resolve);
        this.simulation.arrive(this.#random(this.#random(8) === 0 ? 15_000 : 1000), () => {
          this.received.add(event);
          cuts.delete(resolve);
          resolve();
        });
      });
      this.sending.delete(request);
      if (this.received.has(event)) await this.#query(server, () => this.delivered.add(event)).catch(() => undefined);
    };
    const active = new Set<number>();
    const look = async (): Promise<void> => {
      const listed = this.#query(server, () => this.events.filter((event) => !this.delivered.has(event)));
      const pending = await listed.catch(() => []);
      for (const event of pending) {
        if (isStopping || !mayWork() || active.size >= REQUESTS) return;
        if (active.has(event)) continue;
        active.add(event);
        void send(event).finally(() => active.delete(event));
      }
    };
    const timer = setInterval(() => void look(), 300);
    return async () => {
      isStopping = true;
      clearInterval(timer);
      const limit = setTimeout(() => {
        for (const cut of cuts) cut();
      }, END_LIMIT_MS);
      while (cuts.size > 0 && [...this.sending].some((each) => each.server === server))
        await new Promise<void>((resolve) => void setTimeout(resolve, 20));
      clearTimeout(limit);
    };
  }

  /** There is at most one server that may work, and at most one that does. */
  check = (): void => {
    const leaders = this.mayWork.filter((mayWork, server) => this.isAlive(server) && mayWork());
    expect(leaders.length).toBeLessThan(2);
    // What a server had sent when it froze is beyond its control.
    const wasFrozenSince = (server: number, sinceMs: number) => this.servers[server]!.frozenUntilMs > sinceMs;
    const busy = new Set(
      [...this.sending]
        .filter(({ server, sinceMs }) => this.isAlive(server) && !wasFrozenSince(server, sinceMs))
        .map(({ server }) => server),
    );
    expect(busy.size).toBeLessThan(2);
  };
}

let world: World;
afterEach(() => world?.simulation.end());

const simulate = async (faults: readonly Fault[], seed: number, untilMs: number): Promise<World> => {
  world?.simulation.end();
  world = new World(faults, seed);
  await world.simulation.run(untilMs, world.check);
  return world;
};

/** One server at least runs to the end, and can begin. */
const faults = fc.array(
  fc.record({
    kind: fc.constantFrom('silent', 'refused', 'unanswered', 'frozen', 'killed', 'begin'),
    server: fc.integer({ min: 0, max: SERVERS - 1 }),
    atMs: fc.integer({ min: 0, max: FAULTS_MS }),
    lengthMs: fc.integer({ min: 100, max: 40_000 }),
  }),
  { maxLength: 12 },
);

describe('leadership', () => {
  it('has at most one leader at any time, and loses no event, whatever fails', async () => {
    const run = async (drawn: Fault[], seed: number): Promise<void> => {
      const happening = drawn
        .filter(({ kind, server }) => kind !== 'killed' || server !== 0)
        .map((fault) => (fault.kind === 'begin' && fault.server !== 0 ? { ...fault, lengthMs: 1e9 } : fault));
      const { events, received, handlers, mayWork } = await simulate(happening, seed, FAULTS_MS + QUIET_MS);
      expect(events.filter((event) => !received.has(event))).toEqual([]);
      const leading = mayWork.flatMap((may, server) => (world.isAlive(server) && may() ? [server] : []));
      expect(leading).toHaveLength(1);
      expect([...handlers].filter((server) => world.isAlive(server))).toEqual(leading);
    };
    const settings = { numRuns: 100, interruptAfterTimeLimit: 40_000 };
    await fc.assert(fc.asyncProperty(faults, fc.integer({ min: 1, max: 2 ** 31 }), run), settings);
  });

  it('hands over when the work can not be begun, and begins it later', async () => {
    const broken = (server: number, lengthMs: number): Fault => ({ kind: 'begin', server, atMs: 0, lengthMs });
    const { mayWork } = await simulate([broken(0, 1e9), broken(1, 1e9)], 1, 60_000);
    expect(mayWork.map((may) => may())).toEqual([false, false, true]);
    const alone = await simulate(
      [0, 1, 2].map((server) => broken(server, 30_000)),
      1,
      120_000,
    );
    expect(alone.mayWork.filter((may) => may())).toHaveLength(1);
    expect(alone.begun).toBeGreaterThan(3);
  });

  it('stops the work before the lease ends when the leader gets no answer', async () => {
    const leaderOf = ({ mayWork }: World): number => mayWork.findIndex((may) => may());
    for (let seed = 1; seed <= 40; seed++) {
      const leader = leaderOf(await simulate([], seed, 20_000));
      const silent: Fault = { kind: 'silent', server: leader, atMs: 20_000, lengthMs: 40_000 };
      // The same until then.
      const next = leaderOf(await simulate([silent], seed, 45_000));
      expect([0, 1, 2].filter((server) => server !== leader)).toContain(next);
    }
    const silent = [0, 1, 2].map((server): Fault => ({ kind: 'silent', server, atMs: 20_000, lengthMs: 40_000 }));
    expect(leaderOf(await simulate(silent, 1, 30_000))).toBe(-1);
    expect([...world.sending]).toEqual([]);
  });

  it('gives the lease back when it stops', async () => {
    const { mayWork, leaderships, servers, simulation, check } = await simulate([], 1, 20_000);
    const leader = mayWork.findIndex((may) => may());
    simulation.as(servers[leader]!, () => void leaderships[leader]!.stop());
    // Sooner than the lease would have ended.
    await simulation.run(26_000, check);
    const next = mayWork.findIndex((may) => may());
    expect(next).not.toBe(-1);
    expect(next).not.toBe(leader);
  });
});

import { LRUCache } from 'lru-cache';
import type { Database } from '../../db/database.js';
import { listEnvironments } from '../../db/tables/server/environment.js';
import type { Clock } from '../../lib/clock.js';
import { createTokenBuckets } from '../../lib/token-bucket.js';
import { isUnavailable } from '../../lib/unavailable.js';
import type { Logger } from '../../telemetry/logger.js';
import type { Metrics } from '../../telemetry/metrics.js';
import { findPlaybackEnvironments } from '../tables/collected-views.js';
import { KnownEnvironments } from './known-environments.js';
import { mergeViews, type PartialView, sizeOfView } from './partial-view.js';
import { readBeacon } from './read-beacon.js';
import { MAX_USER_AGENT, UserAgents } from './user-agents.js';
import { writeViews } from './write-views.js';

/** What a request tells beside its body. */
export interface BeaconOrigin {
  readonly userAgent: string | undefined;
  /** A code of ISO 3166-1, from a header that a trusted proxy sets. */
  readonly country: string | undefined;
}

interface ViewCollectorOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'viewReported'>;
  /** The time between writes; 10 s by default. */
  readonly writeMs?: number;
  /** Views that wait to be written. */
  readonly maxViews?: number;
  readonly maxBytes?: number;
  /** New views of an environment. */
  readonly newViews?: { readonly perSecond: number; readonly burst: number };
}

const WRITE_MS = 10_000;
const MAX_VIEWS = 20_000;
const MAX_BYTES = 64 * 1024 * 1024;
/** More than an audience that arrives for the start of a broadcast. */
const NEW_VIEWS = { perSecond: 100, burst: 20_000 };
/** Views that are not new; each takes about 200 bytes. */
const MAX_KNOWN = 50_000;
/** Players that wait for a click. */
const MAX_UNSTARTED = 10_000;
const MAX_UNSTARTED_BYTES = 16 * 1024 * 1024;
/** In one statement, which others wait for on the embedded database. */
const MAX_WRITTEN = 500;

/**
 * Collects what players report, and writes it every 10 seconds: one statement adds to the rows of
 * all views, whichever servers they report to. A killed process loses what it has not written.
 */
export class ViewCollector {
  readonly #options: Required<ViewCollectorOptions>;
  readonly #environments: KnownEnvironments;
  readonly #userAgents = new UserAgents();
  readonly #takeNew: (environmentId: string) => boolean;
  readonly #known = new LRUCache<string, true>({ max: MAX_KNOWN });
  readonly #unstarted = new LRUCache<string, PartialView>({
    max: MAX_UNSTARTED,
    maxSize: MAX_UNSTARTED_BYTES,
    sizeCalculation: sizeOfView,
  });
  readonly #timer: NodeJS.Timeout;
  #waiting = new Map<string, PartialView>();
  #waitingBytes = 0;
  #lost = 0;
  #running: Promise<void> | undefined;

  constructor(options: ViewCollectorOptions) {
    const defaults = { writeMs: WRITE_MS, maxViews: MAX_VIEWS, maxBytes: MAX_BYTES, newViews: NEW_VIEWS };
    this.#options = { ...defaults, ...options };
    const { database, clock, newViews, writeMs } = this.#options;
    this.#takeNew = createTokenBuckets(newViews, clock);
    this.#environments = new KnownEnvironments(
      async () => (await listEnvironments(database.queryable)).map(({ id }) => id),
      clock,
    );
    this.#timer = setInterval(() => this.#writeInBackground(), writeMs);
  }

  /** How many views wait to be written. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Adds what a player sent. What names no environment that exists, or is too much, is ignored.
   * @throws KinoraError `invalid_parameters`
   */
  async receive(body: Uint8Array, origin: BeaconOrigin): Promise<void> {
    const { clock, metrics } = this.#options;
    for (const view of readBeacon(body, clock.now().getTime())) {
      const { environmentId } = view;
      // Without a key, the playback ID tells the environment.
      const isKnown = environmentId === undefined ? view.playbackId !== undefined : await this.#exists(environmentId);
      if (isKnown) this.#add(view, origin);
      else metrics.viewReported('unknown');
    }
  }

  /** Writes what waits. @throws when it could not be written and waits for the next time */
  async write(): Promise<void> {
    await this.#running;
    await this.#write();
  }

  /** Writes what waits; logs what can't be written, which is lost. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.write().catch((error: unknown) => {
      this.#options.logger.error({ err: error, views: this.#waiting.size }, 'reports of views lost at the stop');
    });
  }

  async #exists(environmentId: string): Promise<boolean> {
    try {
      return await this.#environments.has(environmentId);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return false;
    }
  }

  #add(view: PartialView, { userAgent, country }: BeaconOrigin): void {
    const { metrics } = this.#options;
    const key = keyOf(view);
    const isNew = !this.#known.has(key);
    if (isNew && !this.#takeNew(view.environmentId ?? '')) {
      this.#lost += 1;
      metrics.viewReported('lost');
      return;
    }
    this.#known.set(key, true);
    metrics.viewReported('stored');
    if (isNew && userAgent !== undefined) {
      view.details.set('viewer_user_agent', userAgent.slice(0, MAX_USER_AGENT));
      // What the player tells of itself is more exact.
      for (const [name, value] of this.#userAgents.describe(userAgent))
        if (!view.dimensions.has(name)) view.dimensions.set(name, value);
    }
    if (isNew && country !== undefined) view.dimensions.set('country', country);
    const unstarted = this.#unstarted.get(key);
    if (unstarted) {
      this.#unstarted.delete(key);
      this.#keep(unstarted);
    }
    this.#keep(view);
    if (this.#waitingBytes > this.#options.maxBytes / 2) this.#writeInBackground();
  }

  /** Makes it wait for the next write. */
  #keep(view: PartialView): void {
    const { maxViews, maxBytes, metrics } = this.#options;
    const key = keyOf(view);
    const waiting = this.#waiting.get(key);
    const sizeBytes = sizeOfView(view);
    if (this.#waitingBytes + sizeBytes > maxBytes || (!waiting && this.#waiting.size >= maxViews)) {
      this.#lost += 1;
      metrics.viewReported('lost');
      return;
    }
    this.#waitingBytes += sizeBytes;
    if (waiting) mergeViews(waiting, view);
    else this.#waiting.set(key, view);
  }

  #writeInBackground(): void {
    this.#running ??= this.#write()
      .catch((error) => this.#options.logger.warn({ err: error }, 'reports of views not stored, retrying'))
      .finally(() => {
        this.#running = undefined;
      });
  }

  async #write(): Promise<void> {
    const { logger } = this.#options;
    if (this.#lost > 0) logger.warn({ reports: this.#lost }, 'reports of views lost: too many views at once');
    this.#lost = 0;
    const taken = [...this.#waiting.values()];
    this.#waiting = new Map();
    this.#waitingBytes = 0;
    for (let at = 0; at < taken.length; at += MAX_WRITTEN) {
      try {
        await this.#writeSome(taken.slice(at, at + MAX_WRITTEN));
      } catch (error) {
        for (const view of taken.slice(at + MAX_WRITTEN)) this.#keep(view);
        throw error;
      }
    }
  }

  async #writeSome(views: readonly PartialView[]): Promise<void> {
    const { database, clock, logger } = this.#options;
    let unwritten = new Map(views.map((view) => [keyOf(view), view]));
    try {
      unwritten = await placeViews(views, (ids) => findPlaybackEnvironments(database.queryable, ids));
      const written = await writeViews({ database, clock, logger }, unwritten);
      for (const [key, view] of unwritten)
        if (view.startedAtMs === undefined && !written.has(key)) this.#unstarted.set(key, view);
    } catch (error) {
      // They wait together with what has arrived since.
      for (const view of unwritten.values()) this.#keep(view);
      throw error;
    }
  }
}

const keyOf = ({ environmentId = '', id }: Pick<PartialView, 'environmentId' | 'id'>): string =>
  `${environmentId} ${id}`;

/** Finds the environments of views that name none, and leaves out those that have none. */
const placeViews = async (
  views: readonly PartialView[],
  findEnvironments: (playbackIds: readonly string[]) => Promise<ReadonlyMap<string, string>>,
): Promise<Map<string, PartialView>> => {
  const placed = new Map<string, PartialView>();
  const others = views.filter(({ environmentId }) => environmentId === undefined);
  const playbackIds = others.flatMap(({ playbackId }) => playbackId ?? []);
  const environments = playbackIds.length === 0 ? new Map<string, string>() : await findEnvironments(playbackIds);
  for (const view of views) {
    const environmentId = view.environmentId ?? environments.get(view.playbackId ?? '');
    if (environmentId === undefined) continue;
    const key = keyOf({ environmentId, id: view.id });
    const same = placed.get(key);
    if (same) mergeViews(same, view);
    else placed.set(key, view.environmentId === undefined ? { ...view, environmentId } : view);
  }
  return placed;
};

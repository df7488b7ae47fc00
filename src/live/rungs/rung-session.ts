import { mkdir, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { LiveFeed } from '../../domain/playback/live-feed.js';
import type { Clock } from '../../lib/clock.js';
import { newId } from '../../lib/ids.js';
import { decodingStart, type LiveSegment } from '../../media/live/live-track.js';
import { verifyFragment } from '../../media/mp4/fragment-verifier.js';
import { readFragment, readVideoInit } from '../../media/mp4/read-cmaf.js';
import type { LiveRungsPlan } from '../../media/plan/live-rungs.js';
import type { FedJob, MediaPool } from '../../pool/media-pool.js';
import type { LiveOutput, LivePartInput } from '../../pool/protocol.js';
import { readResult } from '../../pool/read-result.js';
import type { Logger } from '../../telemetry/logger.js';
import type { Metrics } from '../../telemetry/metrics.js';
import type { RungTrack } from './rung-track.js';

export interface RungSessionDeps {
  readonly pool: Pick<MediaPool, 'open'>;
  /** The directory that media processes write to. */
  readonly temporaryDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
}

interface RungSource {
  readonly feed: LiveFeed;
  /** The recorded track. */
  readonly copyName: string;
  readonly plan: LiveRungsPlan;
  readonly tracks: readonly RungTrack[];
}

/** A rung is encoded for this long after its last request. */
const WATCHED_MS = 20_000;
/** Parts that the process has not read yet: it catches up without filling the disk. */
const MAX_UNREAD = 12;
/** A process that reads nothing for so long is replaced. */
const STALLED_MS = 30_000;
const WAIT_MS = 1_000;
const END_MS = 30_000;
/** A rung that was too much returns after this time at the earliest. */
const BLOCKED_MS = 60_000;
/** Target durations by which the encoder may lag before parts are skipped. */
const MAX_LAG_TARGETS = 3;
const MAX_PART_BYTES = 64 * 2 ** 20;
const MAX_THREADS = 4;
/** Processes that may end in one segment; one may have been lost before it began. */
const MAX_CRASHES = 3;

type Pending = Pick<LivePartInput, 'startTicks' | 'endTicks'> & { readonly track: RungTrack; readonly outPath: string };

/**
 * Encodes the rungs of one broadcast while somebody watches them: feeds the recorded parts to a
 * media process and takes back a fragment per rung and part. Ends by itself; does not restart. One
 * file, because what is fed and what comes back change the same state.
 */
export class RungSession {
  readonly ended: Promise<void>;
  readonly #deps: RungSessionDeps;
  readonly #source: RungSource;
  readonly #onChange: () => void;
  readonly #abort = new AbortController();
  readonly #dir: string;
  #job: FedJob<'live-encode'> | undefined;
  /** The process is gone before its job. */
  #failure: string | undefined;
  #config = -1;
  #reorderTicks = 0;
  /** Files of inputs that were not read yet. */
  readonly #unread = new Map<string, string>();
  readonly #pending = new Map<string, Pending>();
  /** Fragments are verified in their order. */
  #verified: Promise<void> = Promise.resolve();
  #wake: () => void = () => undefined;
  #crashes = { segment: -1, count: 0 };
  #lagTicks = 0;
  #readTicks = 0;

  constructor(deps: RungSessionDeps, source: RungSource, onChange: () => void) {
    this.#deps = deps;
    this.#source = source;
    this.#onChange = onChange;
    this.#dir = join(deps.temporaryDir, `live-${newId()}`);
    this.ended = this.#run();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    this.#wake();
    await this.ended;
  }

  async #run(): Promise<void> {
    const { logger } = this.#deps;
    try {
      await mkdir(this.#dir, { recursive: true });
      await this.#follow();
    } catch (error) {
      if (!this.#abort.signal.aborted) logger.error({ err: error }, 'live rungs are not encoded');
    } finally {
      await this.#job?.close();
      await this.#verified;
      for (const track of this.#source.tracks) track.fromSegment = undefined;
      this.#loseUnfinished();
      await rm(this.#dir, { recursive: true, force: true });
      this.#onChange();
    }
  }

  /** Feeds part after part until nobody watches or the broadcast has ended. */
  async #follow(): Promise<void> {
    const { feed, copyName } = this.#source;
    const { signal } = this.#abort;
    let number = this.#segments().at(-1)?.number ?? 0;
    let part = 0;
    let restarts = true;
    // Whether `number` is where decoding starts.
    let isPlaced = false;
    while (!signal.aborted) {
      if (this.#failure !== undefined) {
        await this.#verified;
        number = this.#recover();
        [part, restarts, isPlaced] = [0, true, false];
      }
      if (!isPlaced && this.#segment(number)) [number, isPlaced] = [this.#independentBefore(number), true];
      const segment = this.#segment(number);
      if (part === 0 && segment) {
        if (!this.#choose(segment)) break;
        const skipped = this.#skipTo(segment);
        if (skipped !== undefined) {
          [number, restarts] = [skipped, true];
          continue;
        }
        if (segment.discontinuity) restarts = true;
      }
      if (segment && part < segment.parts.length) {
        if (!(await this.#hasRoom())) continue;
        await this.#feedPart(segment, part, restarts);
        restarts = false;
        part += 1;
      } else if (segment?.complete) {
        number += 1;
        part = 0;
      } else if (feed.track(copyName)?.ended) break;
      else if (await feed.waitFor(copyName, number, part, { timeoutMs: WAIT_MS, signal })) {
        // Nothing more comes: the recording goes on after a restart or at another server.
        if (!this.#has(number, part) && this.#failure === undefined) break;
      } else if (part === 0) {
        // The encoder has left, or stalls: the decoder returns the frames that it keeps back.
        await this.#finish();
        this.#job = undefined;
        this.#config = -1;
        [restarts, isPlaced] = [true, false];
      }
      this.#onChange();
    }
    await this.#finish();
  }

  /** Waits for what was fed. */
  async #finish(): Promise<void> {
    if (!this.#job || this.#abort.signal.aborted) return;
    this.#job.feed({ end: true });
    const limit = setTimeout(() => void this.#job?.close(), END_MS);
    await this.#job.ended;
    clearTimeout(limit);
  }

  #segments(): readonly LiveSegment[] {
    return this.#source.feed.track(this.#source.copyName)?.segments ?? [];
  }

  #segment(number: number): LiveSegment | undefined {
    const segments = this.#segments();
    return segments[number - (segments[0]?.number ?? number)];
  }

  #has(number: number, part: number): boolean {
    const segment = this.#segment(number);
    return segment !== undefined && (segment.complete || part < segment.parts.length);
  }

  #independentBefore(number: number): number {
    const segments = this.#segments();
    const firstNumber = segments[0]?.number ?? number;
    return firstNumber + decodingStart(segments, number - firstNumber);
  }

  /** Starts and stops rungs at the start of a segment. @returns whether any is left */
  #choose({ number, startTicks }: LiveSegment): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const track of this.#source.tracks) {
      const isWanted = nowMs - track.touchedMs < WATCHED_MS && nowMs >= track.blockedUntilMs;
      if (!isWanted) track.fromSegment = undefined;
      else track.fromSegment ??= number;
    }
    this.#keepPace(startTicks, nowMs);
    for (const track of this.#watched(number)) track.expect(number, startTicks);
    return this.#source.tracks.some(({ fromSegment }) => fromSegment !== undefined);
  }

  #watched(number: number): RungTrack[] {
    return this.#source.tracks.filter(({ fromSegment }) => fromSegment !== undefined && fromSegment <= number);
  }

  /**
   * Stops the highest rung when the process lags by more than a segment and does not catch up
   * between two segments. The lowest one is never stopped.
   */
  #keepPace(startTicks: number, nowMs: number): void {
    const { feed, tracks } = this.#source;
    const lagTicks = this.#edgeTicks() - Math.max(this.#readTicks, startTicks);
    const limitTicks = feed.times.targetSeconds * this.#timescale;
    const watched = tracks.filter(({ fromSegment }) => fromSegment !== undefined);
    if (lagTicks > limitTicks && this.#lagTicks > limitTicks && lagTicks >= this.#lagTicks && watched.length > 1) {
      const [highest] = watched as [RungTrack];
      highest.fromSegment = undefined;
      highest.blockedUntilMs = nowMs + BLOCKED_MS;
      const fields = { asset_id: feed.assetId, rung: highest.rung.name, lag_seconds: lagTicks / this.#timescale };
      this.#deps.logger.warn(fields, 'the processor is too slow for a rung of a live stream');
      this.#deps.metrics?.liveRungDropped();
    }
    this.#lagTicks = lagTicks;
  }

  /** The segment to go on with when the lag is too large: those between are made on request. */
  #skipTo({ number, startTicks }: LiveSegment): number | undefined {
    const { feed } = this.#source;
    const lagSeconds = (this.#edgeTicks() - startTicks) / this.#timescale;
    const newest = this.#segments().at(-1)!;
    if (lagSeconds <= MAX_LAG_TARGETS * feed.times.targetSeconds || newest.number === number) return undefined;
    const next = this.#independentBefore(newest.number);
    if (next <= number) return undefined;
    for (const track of this.#source.tracks) {
      track.lose(number);
      if (track.fromSegment !== undefined) track.fromSegment = newest.number;
    }
    const fields = { asset_id: feed.assetId, lag_seconds: lagSeconds };
    this.#deps.logger.warn(fields, 'the processor is too slow for live rungs: segments are skipped');
    return next;
  }

  get #timescale(): number {
    return this.#source.tracks[0]!.state.info.timescale;
  }

  #edgeTicks(): number {
    const last = this.#segments().at(-1);
    return last ? last.startTicks + last.durationTicks : 0;
  }

  /** Whether the process can take a part; false when something else happened first. */
  async #hasRoom(): Promise<boolean> {
    if (this.#unread.size < MAX_UNREAD) return true;
    let isStalled = false;
    await new Promise<void>((resolve) => {
      const limit = setTimeout(() => {
        isStalled = true;
        resolve();
      }, STALLED_MS);
      this.#wake = () => {
        clearTimeout(limit);
        resolve();
      };
    });
    if (isStalled) await this.#job?.close();
    return this.#unread.size < MAX_UNREAD && this.#failure === undefined && !this.#abort.signal.aborted;
  }

  async #feedPart(segment: LiveSegment, part: number, restarts: boolean): Promise<void> {
    const { feed, copyName } = this.#source;
    if (segment.config !== this.#config) await this.#openJob(segment.config);
    const job = this.#job!;
    const bytes = await feed.read(copyName, segment.number, part);
    if (!bytes) throw new Error(`part ${segment.number}.${part} of the recording is missing`);
    const { samples, data } = readFragment(bytes, this.#reorderTicks);
    const name = `${segment.number}.${part}`;
    const path = join(this.#dir, `${name}-${newId()}`);
    await writeFile(path, data);
    const before = segment.parts.slice(0, part).reduce((sum, { durationTicks }) => sum + durationTicks, 0);
    const startTicks = segment.startTicks + before;
    const endTicks = startTicks + segment.parts[part]!.durationTicks;
    const encoding = this.#watched(segment.number).filter(
      (track) => track.isEncoding(segment.number) && track.nextPart(segment.number) <= part,
    );
    const outputs = encoding.map((track) => {
      const outPath = `${path}-${track.rung.name}`;
      this.#pending.set(`${track.rung.name} ${name}`, { track, startTicks, endTicks, outPath });
      return { rung: track.rung.name, outPath };
    });
    this.#unread.set(name, path);
    job.feed({ segment: segment.number, part, startTicks, endTicks, restarts, path, samples, outputs });
  }

  /** Starts a process for a configuration of the recorded video. */
  async #openJob(config: number): Promise<void> {
    const { feed, copyName, plan, tracks } = this.#source;
    await this.#finish();
    await this.#verified;
    const init = readVideoInit(feed.init(copyName, config)!);
    this.#config = config;
    this.#reorderTicks = init.reorderTicks;
    const job = this.#deps.pool.open<'live-encode'>(
      {
        kind: 'live-encode',
        codec: init.codec,
        config: Buffer.from(init.record).toString('base64'),
        timescale: init.timescale,
        frameRate: plan.frameRate,
        filters: plan.filters,
        rungs: tracks.map(({ rung: { name, width, height, frameStep, encoder } }) => ({
          name,
          width,
          height,
          frameStep,
          encoder,
        })),
        threads: Math.min(availableParallelism(), MAX_THREADS),
      },
      (output) => {
        if (job === this.#job) this.#receive(output);
      },
    );
    this.#job = job;
    void job.ended.then((reason) => {
      if (job === this.#job) this.#failure = reason;
      this.#wake();
    });
  }

  /** What a process says may be anything: only what was asked for counts. */
  #receive(output: LiveOutput): void {
    if (output.type === 'read') {
      const name = `${output.segment}.${output.part}`;
      const path = this.#unread.get(name);
      if (path === undefined) return;
      this.#unread.delete(name);
      void rm(path, { force: true });
      const segment = this.#segment(output.segment);
      if (segment) this.#readTicks = Math.max(this.#readTicks, segment.startTicks);
      this.#wake();
      return;
    }
    const name = `${output.rung} ${output.segment}.${output.part}`;
    const pending = this.#pending.get(name);
    if (!pending) return;
    this.#pending.delete(name);
    this.#verified = this.#verified.then(() => this.#take(output, pending));
  }

  async #take(
    { segment, part, samples }: LiveOutput & { type: 'part' },
    { track, startTicks, endTicks, outPath }: Pending,
  ): Promise<void> {
    try {
      if (samples === 0) throw new Error('no frame could be decoded');
      const bytes = await readResult(outPath, MAX_PART_BYTES);
      const durationTicks = endTicks - startTicks;
      const expected = { baseDecodeTicks: startTicks, durationTicks, sampleCount: samples, firstSync: part === 0 };
      verifyFragment(bytes, expected);
      const independent = readFragment(bytes, 0).samples[0]!.isKey;
      if (track.nextPart(segment) !== part) return;
      track.add(segment, { durationTicks, independent, sizeBytes: bytes.length, bytes });
      this.#onChange();
    } catch (error) {
      this.#deps.logger.warn({ err: error, rung: track.rung.name, segment, part }, 'part of a live rung is not valid');
      track.lose(segment);
      // It begins again with the next segment.
      track.fromSegment = undefined;
    } finally {
      await rm(outPath, { recursive: true, force: true });
    }
  }

  /**
   * After the process has ended: the segment to begin with. Its parts that are there are kept, so
   * viewers notice nothing; a segment that ends several processes is left to requests.
   */
  #recover(): number {
    const { feed, tracks } = this.#source;
    const fields = { asset_id: feed.assetId, reason: this.#failure };
    this.#deps.logger.warn(fields, 'the process that encodes live rungs has ended');
    this.#failure = undefined;
    this.#job = undefined;
    this.#config = -1;
    this.#pending.clear();
    this.#unread.clear();
    const unfinished = this.#segments().filter(({ number, parts }) =>
      tracks.some((track) => track.isEncoding(number) && track.nextPart(number) < parts.length),
    );
    const first = unfinished[0]?.number ?? this.#segments().at(-1)!.number;
    this.#crashes = { segment: first, count: first === this.#crashes.segment ? this.#crashes.count + 1 : 1 };
    if (this.#crashes.count < MAX_CRASHES) return first;
    for (const track of tracks) {
      track.lose(first);
      if (track.fromSegment !== undefined) track.fromSegment = first + 1;
    }
    return first + 1;
  }

  #loseUnfinished(): void {
    for (const { number, parts, complete } of this.#segments()) {
      for (const track of this.#source.tracks)
        if (track.isEncoding(number) && (!complete || track.nextPart(number) < parts.length)) track.lose(number);
    }
  }
}

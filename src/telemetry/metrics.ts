import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type EndedRequest, REQUEST_SECONDS, RequestTimes } from './request-times.js';

export interface GaugeName {
  readonly name: `kinora_${string}`;
  readonly help: string;
  readonly labels?: readonly string[];
}

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Below 1 a viewer waits. */
const REAL_TIME_FACTORS = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128];

/**
 * Metrics for operators in the Prometheus text format; each server has its own. Labels have few
 * values that are known in advance (a route's pattern, never a URL; no IDs), so that callers can't
 * increase the number of series.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #registers = [this.#registry];
  readonly #requests = new RequestTimes(
    'kinora_http_request_duration_seconds',
    'Time from the arrival of a request to the end of its answer',
  );
  readonly #uploads = new Gauge({
    name: 'kinora_uploads_in_flight',
    help: 'Requests that send the file of a direct upload',
    registers: this.#registers,
  });
  readonly #jobs = new Counter({
    name: 'kinora_jobs_ended_total',
    help: 'Runs of background jobs by their end',
    labelNames: ['queue', 'end'],
    registers: this.#registers,
  });
  readonly #segments = new Counter({
    name: 'kinora_segment_requests_total',
    help: 'Segments that viewers asked for: hit, in the cache; miss, made or waited for',
    labelNames: ['cache'],
    registers: this.#registers,
  });
  readonly #waits = new Histogram({
    name: 'kinora_segment_wait_seconds',
    help: 'Time that viewers waited for segments that were not in the cache',
    buckets: [...REQUEST_SECONDS],
    registers: this.#registers,
  });
  readonly #factors = new Histogram({
    name: 'kinora_media_real_time_factor',
    help: 'Seconds of media made in a second of work, for each segment of video and each chunk of audio',
    labelNames: ['kind'],
    buckets: REAL_TIME_FACTORS,
    registers: this.#registers,
  });
  readonly #nodes = new Counter({
    name: 'kinora_node_requests_total',
    help: 'Segments that other servers were asked for: sent, refused, or failed when the server could not be reached',
    labelNames: ['outcome'],
    registers: this.#registers,
  });
  readonly #lostProcesses = new Counter({
    name: 'kinora_media_process_restarts_total',
    help: 'Media processes that ended before their job and were replaced, by kind of job',
    labelNames: ['job'],
    registers: this.#registers,
  });
  readonly #droppedRungs = new Counter({
    name: 'kinora_live_rungs_dropped_total',
    help: 'Rungs of live streams that were not encoded for a while because the processor was too slow',
    registers: this.#registers,
  });
  readonly #viewReports = new Counter({
    name: 'kinora_view_reports_total',
    help: 'Views in the reports of players: stored; unknown, of no environment that exists; lost, because there were too many at once',
    labelNames: ['outcome'],
    registers: this.#registers,
  });
  readonly contentType = this.#registry.contentType;

  constructor() {
    // Created at startup, so that the share of hits can be calculated before the first miss.
    for (const cache of ['hit', 'miss'] as const) this.#segments.inc({ cache }, 0);
  }

  requestEnded(request: EndedRequest): void {
    this.#requests.count(request);
  }

  /** A request that sends the file of a direct upload begins (1) or ends (-1). */
  uploadsInFlight(change: 1 | -1): void {
    this.#uploads.inc(change);
  }

  jobEnded(queue: string, end: 'done' | 'failed' | 'cancelled' | 'retried'): void {
    this.#jobs.inc({ queue, end });
  }

  /** A viewer requested a segment, which was or was not in the cache. */
  segmentRequested(cache: 'hit' | 'miss'): void {
    this.#segments.inc({ cache });
  }

  /** How long a viewer waited for a segment that was not in the cache. */
  viewerWaited(waitMs: number): void {
    this.#waits.observe(waitMs / 1000);
  }

  /** `workMs` is the time that a media process worked on it, without waiting for a slot. */
  mediaMade(kind: 'encode' | 'copy' | 'audio', mediaSeconds: number, workMs: number): void {
    if (workMs > 0) this.#factors.observe({ kind }, (mediaSeconds * 1000) / workMs);
  }

  /** Another server was asked for a segment: it sent it, refused, or could not be reached. */
  nodeAsked(outcome: 'sent' | 'refused' | 'failed'): void {
    this.#nodes.inc({ outcome });
  }

  /**
   * A media process exited before its job ended (or, as `idle`, without a job) and was replaced.
   */
  mediaProcessLost(job: string): void {
    this.#lostProcesses.inc({ job });
  }

  /** The processor is too slow for a rung of a live stream. */
  liveRungDropped(): void {
    this.#droppedRungs.inc();
  }

  /**
   * A player reported a view: it waits to be stored, has no environment that exists, or is lost
   * because there are too many at once.
   */
  viewReported(outcome: 'stored' | 'unknown' | 'lost'): void {
    this.#viewReports.inc({ outcome });
  }

  /** A metric that is read whenever metrics are requested; `read` must not throw. */
  watch({ name, help, labels = [] }: GaugeName, read: () => Promise<readonly Sample[]>): void {
    new Gauge({
      name,
      help,
      labelNames: [...labels],
      registers: this.#registers,
      async collect() {
        const samples = await read();
        // A series that no longer exists must not keep its last value.
        this.reset();
        // Without labels, a reset sets 0, which differs from unknown.
        if (labels.length === 0 && samples.length === 0) this.remove();
        for (const { labels: values = {}, value } of samples) this.set(values, value);
      },
    });
  }

  /** Adds memory, CPU time, open files and event loop delay of this process. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.#registry });
  }

  async read(): Promise<string> {
    return `${this.#requests.read()}\n${await this.#registry.metrics()}`;
  }
}

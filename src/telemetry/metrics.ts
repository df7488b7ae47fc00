import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { createRequestTimes, type EndedRequest, REQUEST_SECONDS } from './request-times.js';

/**
 * Metrics for operators in the Prometheus text format. Labels have few values that are known in advance (a route's
 * pattern, never a URL; no IDs), so that callers can't increase the number of series.
 */
export interface Metrics {
  requestEnded(request: EndedRequest): void;
  /** A request that sends the file of a direct upload begins (1) or ends (-1). */
  uploadsInFlight(change: 1 | -1): void;
  jobEnded(queue: string, end: 'done' | 'failed' | 'cancelled' | 'retried'): void;
  /** A viewer requested a segment, which was or was not in the cache. */
  segmentRequested(found: 'hit' | 'miss'): void;
  /** How long a viewer waited for a segment that was not in the cache. */
  viewerWaited(waitMs: number): void;
  /** `workMs` is the time that a media process worked on it, without waiting for a slot. */
  mediaMade(kind: 'encode' | 'copy' | 'audio', mediaSeconds: number, workMs: number): void;
  /** Another server was asked for a segment: it sent it, refused, or could not be reached. */
  nodeAsked(outcome: 'sent' | 'refused' | 'failed'): void;
  /** A media process exited before its job ended (or, as `idle`, without a job) and was replaced. */
  mediaProcessLost(job: string): void;
  /** A metric that is read whenever metrics are requested; `read` must not throw. */
  watch(gauge: GaugeName, read: () => Promise<readonly Sample[]>): void;
  /** Adds memory, CPU time, open files and event loop delay of this process. */
  watchProcess(): void;
  readonly contentType: string;
  read(): Promise<string>;
}

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

/** Each server has its own registry. */
export const createMetrics = (): Metrics => {
  const registry = new Registry();
  const registers = [registry];
  const requests = createRequestTimes(
    'kinora_http_request_duration_seconds',
    'Time from the arrival of a request to the end of its answer',
  );
  const uploads = new Gauge({
    name: 'kinora_uploads_in_flight',
    help: 'Requests that send the file of a direct upload',
    registers,
  });
  const jobs = new Counter({
    name: 'kinora_jobs_ended_total',
    help: 'Runs of background jobs by their end',
    labelNames: ['queue', 'end'],
    registers,
  });
  const segments = new Counter({
    name: 'kinora_segment_requests_total',
    help: 'Segments that viewers asked for: hit, in the cache; miss, made or waited for',
    labelNames: ['cache'],
    registers,
  });
  // Created at startup, so that the share of hits can be calculated before the first miss.
  for (const cache of ['hit', 'miss'] as const) segments.inc({ cache }, 0);
  const waits = new Histogram({
    name: 'kinora_segment_wait_seconds',
    help: 'Time that viewers waited for segments that were not in the cache',
    buckets: [...REQUEST_SECONDS],
    registers,
  });
  const factors = new Histogram({
    name: 'kinora_media_real_time_factor',
    help: 'Seconds of media made in a second of work, for each segment of video and each chunk of audio',
    labelNames: ['kind'],
    buckets: REAL_TIME_FACTORS,
    registers,
  });
  const asked = new Counter({
    name: 'kinora_node_requests_total',
    help: 'Segments that other servers were asked for: sent, refused, or failed when the server could not be reached',
    labelNames: ['outcome'],
    registers,
  });
  const lost = new Counter({
    name: 'kinora_media_process_restarts_total',
    help: 'Media processes that ended before their job and were replaced, by kind of job',
    labelNames: ['job'],
    registers,
  });

  return {
    requestEnded: requests.ended,
    uploadsInFlight: (change) => uploads.inc(change),
    jobEnded: (queue, end) => jobs.inc({ queue, end }),
    segmentRequested: (found) => segments.inc({ cache: found }),
    viewerWaited: (waitMs) => waits.observe(waitMs / 1000),
    mediaMade: (kind, mediaSeconds, workMs) => {
      if (workMs > 0) factors.observe({ kind }, (mediaSeconds * 1000) / workMs);
    },
    nodeAsked: (outcome) => asked.inc({ outcome }),
    mediaProcessLost: (job) => lost.inc({ job }),
    watch: ({ name, help, labels = [] }, read) => {
      new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers,
        async collect() {
          const samples = await read();
          // A series that no longer exists must not keep its last value.
          this.reset();
          // Without labels, a reset sets 0, which differs from unknown.
          if (labels.length === 0 && samples.length === 0) this.remove();
          for (const { labels: values = {}, value } of samples) this.set(values, value);
        },
      });
    },
    watchProcess: () => collectDefaultMetrics({ register: registry }),
    contentType: registry.contentType,
    read: async () => `${requests.read()}\n${await registry.metrics()}`,
  };
};

import { setTimeout as sleep } from 'node:timers/promises';
import { cancelled } from '../lib/abort.js';
import type { Clock } from '../lib/clock.js';
import { isKinoraError } from '../lib/errors.js';
import { failureFields } from '../lib/failure-fields.js';
import { createLinkedAbort } from '../lib/linked-abort.js';
import type { BlobInfo, BlobWrite } from '../storage/blob-store.js';
import type { Logger } from '../telemetry/logger.js';
import { createAddressPolicy } from './address.js';
import { type Download, DownloadTry, invalidInput } from './download-try.js';
import type { FetchOptions, SourceFetcher } from './fetch-source.js';
import { GuardedGet, type GuardedGetOptions } from './guarded-get.js';
import { OriginRanges } from './origin-ranges.js';
import { timedOut, unreachable } from './unreachable.js';

export interface SourceClientOptions extends Omit<GuardedGetOptions, 'isAllowedAddress' | 'allowedUrls'> {
  /** `true` allows all internal addresses, a list of CIDR networks only those. */
  readonly allowPrivate: boolean | readonly string[];
  /** Exact URLs that are fetched whatever their address: files that this server provides itself. */
  readonly allowedUrls?: ReadonlySet<string>;
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The delay before the second try, three times as long before the third; 1 s by default. */
  readonly retryDelayMs?: number;
  /** The interval over which the minimum rate is measured; five minutes by default. */
  readonly rateWindowMs?: number;
}

const MAX_TRIES = 3;
/**
 * A try that received this much more than any before isn't counted, so long downloads survive many
 * broken connections.
 */
const PROGRESS_BYTES = 2 ** 20;
const RATE_WINDOW_MS = 5 * 60_000;
const TOTAL_LIMIT_MS = 12 * 3600_000;
const REPORT_INTERVAL_MS = 250;
/**
 * Shorter than for downloads, because the download of the same file waits while a range is read.
 */
const RANGE_IDLE_LIMIT_MS = 10_000;

const isWorthAnotherTry = (error: unknown): boolean => {
  if (isKinoraError(error, 'source_unreachable')) return true;
  const status = isKinoraError(error, 'invalid_input') ? Number(error.details?.http_status) : 0;
  return status === 408 || status === 429 || status >= 500;
};

/** Guarded, resumable download; see `SourceFetcher`. */
export class SourceClient implements SourceFetcher {
  private readonly retryDelayMs: number;
  private readonly download: DownloadTry;

  constructor(private readonly options: SourceClientOptions) {
    const { clock, retryDelayMs = 1000, rateWindowMs = RATE_WINDOW_MS } = options;
    const guards = {
      ...options,
      isAllowedAddress: createAddressPolicy(options.allowPrivate),
      allowedUrls: options.allowedUrls ?? new Set<string>(),
    };
    const { idleLimitMs = RANGE_IDLE_LIMIT_MS } = options;
    const ranges = new OriginRanges(new GuardedGet({ ...guards, idleLimitMs }), retryDelayMs);
    this.retryDelayMs = retryDelayMs;
    this.download = new DownloadTry({ client: new GuardedGet(guards), ranges, clock, rateWindowMs });
  }

  async fetch(url: string, target: BlobWrite, fetchOptions: FetchOptions): Promise<BlobInfo> {
    const { logger, maxBytes } = this.options;
    const { validator, onRanges, onNoRanges, onValidator } = fetchOptions;
    using limited = createLinkedAbort(fetchOptions.signal, TOTAL_LIMIT_MS);
    const download: Download = {
      ...{ url, target, validator, onRanges, onNoRanges, onValidator },
      limitBytes: Math.min(maxBytes, fetchOptions.maxBytes ?? maxBytes),
      signal: limited.signal,
      report: this.createReport(fetchOptions.onProgress),
    };
    try {
      await this.downloadAll(download);
      fetchOptions.onReceived?.();
      return await download.target.commit();
    } catch (error) {
      const failure = fetchOptions.signal?.aborted
        ? cancelled(fetchOptions.signal)
        : limited.isLate
          ? unreachable(timedOut('The whole file did not arrive in time'))
          : error;
      // If the caller does not store the validator, the bytes could never be continued.
      const close =
        isKinoraError(failure, 'invalid_input') || !onValidator ? download.target.discard() : download.target.suspend();
      // The first failure is the cause; the next `resumeWrite` finds any remaining bytes.
      await close.catch((problem: unknown) => logger.warn({ err: problem }, 'unfinished download not removed'));
      throw failure;
    }
  }

  private async downloadAll(download: Download): Promise<void> {
    let mostBytes = download.target.offsetBytes;
    for (let tries = 1; ; tries += 1) {
      try {
        await this.download.run(download);
        break;
      } catch (error) {
        const receivedBytes = download.target.offsetBytes;
        if (receivedBytes >= mostBytes + PROGRESS_BYTES) tries = 1;
        mostBytes = Math.max(mostBytes, receivedBytes);
        if (download.signal.aborted || tries >= MAX_TRIES || !isWorthAnotherTry(error)) throw error;
        const fields = { host: new URL(download.url).host, received_bytes: receivedBytes, ...failureFields(error) };
        this.options.logger.warn(fields, 'download interrupted, retrying');
        await sleep(this.retryDelayMs * 3 ** (tries - 1), undefined, { signal: download.signal });
      }
    }
    if (download.target.offsetBytes === 0) throw invalidInput('The input file is empty.');
  }

  /** Not at every piece of the body, but at its end. */
  private createReport(onProgress: FetchOptions['onProgress']): Download['report'] {
    let reportedMs = -Infinity;
    return (receivedBytes, totalBytes, isLast = false) => {
      const nowMs = this.options.clock.monotonicMs();
      if (!isLast && nowMs - reportedMs < REPORT_INTERVAL_MS) return;
      reportedMs = nowMs;
      onProgress?.(receivedBytes, totalBytes);
    };
  }
}

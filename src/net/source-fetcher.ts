import { setTimeout as sleep } from 'node:timers/promises';
import { cancelled } from '../lib/abort.js';
import { isKinoraError } from '../lib/errors.js';
import { failureFields } from '../lib/failure-fields.js';
import { createLinkedAbort } from '../lib/linked-abort.js';
import type { Logger } from '../telemetry/logger.js';
import { createAddressPolicy } from './address.js';
import { createDownloadTry, type Download, invalidInput } from './download-try.js';
import type { FetchOptions, SourceFetcher } from './fetch-source.js';
import { createGuardedGet, type GuardedGetOptions } from './guarded-get.js';
import { createOriginRanges } from './origin-ranges.js';
import { timedOut, unreachable } from './unreachable.js';

export interface SourceFetcherOptions extends Omit<GuardedGetOptions, 'isAllowedAddress' | 'allowedUrls'> {
  /** `true` allows all internal addresses, a list of CIDR networks only those. */
  readonly allowPrivate: boolean | readonly string[];
  /** Exact URLs that are fetched whatever their address: files that this server provides itself. */
  readonly allowedUrls?: ReadonlySet<string>;
  readonly maxBytes: number;
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
export const createSourceFetcher = (options: SourceFetcherOptions): SourceFetcher => {
  const { clock, logger, maxBytes, retryDelayMs = 1000, rateWindowMs = RATE_WINDOW_MS } = options;
  const guards = {
    ...options,
    isAllowedAddress: createAddressPolicy(options.allowPrivate),
    allowedUrls: options.allowedUrls ?? new Set<string>(),
  };
  const get = createGuardedGet(guards);
  const getRange = createGuardedGet({ ...guards, idleLimitMs: options.idleLimitMs ?? RANGE_IDLE_LIMIT_MS });

  const tryDownload = createDownloadTry({
    ...{ get, clock, rateWindowMs },
    originRanges: createOriginRanges({ get: getRange, retryDelayMs }),
  });

  const downloadAll = async (download: Download): Promise<void> => {
    let mostBytes = download.target.offsetBytes;
    for (let tries = 1; ; tries += 1) {
      try {
        await tryDownload(download);
        break;
      } catch (error) {
        const receivedBytes = download.target.offsetBytes;
        if (receivedBytes >= mostBytes + PROGRESS_BYTES) tries = 1;
        mostBytes = Math.max(mostBytes, receivedBytes);
        if (download.signal.aborted || tries >= MAX_TRIES || !isWorthAnotherTry(error)) throw error;
        const { host } = new URL(download.url);
        logger.warn({ host, received_bytes: receivedBytes, ...failureFields(error) }, 'download interrupted, retrying');
        await sleep(retryDelayMs * 3 ** (tries - 1), undefined, { signal: download.signal });
      }
    }
    if (download.target.offsetBytes === 0) throw invalidInput('The input file is empty.');
  };

  /** Not at every piece of the body, but at its end. */
  const createReport = (onProgress: FetchOptions['onProgress']): Download['report'] => {
    let reportedMs = -Infinity;
    return (receivedBytes, totalBytes, isLast = false) => {
      const nowMs = clock.monotonicMs();
      if (!isLast && nowMs - reportedMs < REPORT_INTERVAL_MS) return;
      reportedMs = nowMs;
      onProgress?.(receivedBytes, totalBytes);
    };
  };

  return {
    fetch: async (url, target, fetchOptions) => {
      const { validator, onRanges, onNoRanges, onValidator } = fetchOptions;
      using limited = createLinkedAbort(fetchOptions.signal, TOTAL_LIMIT_MS);
      const download: Download = {
        ...{ url, target, validator, onRanges, onNoRanges, onValidator },
        limitBytes: Math.min(maxBytes, fetchOptions.maxBytes ?? maxBytes),
        signal: limited.signal,
        report: createReport(fetchOptions.onProgress),
      };
      try {
        await downloadAll(download);
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
          isKinoraError(failure, 'invalid_input') || !onValidator
            ? download.target.discard()
            : download.target.suspend();
        // The first failure is the cause; the next `resumeWrite` finds any remaining bytes.
        await close.catch((problem: unknown) => logger.warn({ err: problem }, 'unfinished download not removed'));
        throw failure;
      }
    },
  };
};

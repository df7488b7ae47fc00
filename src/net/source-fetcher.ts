import { setTimeout as sleep } from 'node:timers/promises';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import type { BlobWrite } from '../storage/blob-store.js';
import type { Logger } from '../telemetry/logger.js';
import { createAddressPolicy } from './address.js';
import type { FetchOptions, SourceFetcher } from './fetch-source.js';
import { createGuardedGet, type GuardedGetOptions, type GuardedResponse } from './guarded-get.js';
import { createOriginRanges } from './origin-ranges.js';
import { strongValidator } from './strong-validator.js';

export interface SourceFetcherOptions extends Omit<GuardedGetOptions, 'isAllowedAddress' | 'allowedUrls'> {
  /** `true`: internal addresses too; a list of CIDR networks: only those of them. */
  readonly allowPrivate: boolean | readonly string[];
  /** Exact URLs that are fetched whatever their address: files that this very server offers. */
  readonly allowedUrls?: ReadonlySet<string>;
  readonly maxBytes: number;
  readonly logger: Logger;
  /** Wait before the second try, three times as long before the third; 1 s when absent. */
  readonly retryDelayMs?: number;
  /** Over which the least rate is measured; five minutes when absent. */
  readonly rateWindowMs?: number;
}

const MAX_TRIES = 3;
/** A try that brought this much more than any before doesn't count: long downloads survive many broken connections. */
const PROGRESS_BYTES = 2 ** 20;
/** Slower than any origin that means well; a byte now and then would hold a place of the ingest for hours. */
const LEAST_BYTES_PER_SECOND = 1024;
const RATE_WINDOW_MS = 5 * 60_000;
const TOTAL_LIMIT_MS = 12 * 3600_000;
const REPORT_INTERVAL_MS = 250;

const invalid = (message: string, details: Record<string, unknown> = {}): KinoraError =>
  new KinoraError('invalid_input', { messages: [message], details });

const badStatus = (status: number): KinoraError =>
  invalid(`The input file could not be downloaded: HTTP status ${status}.`, { http_status: status });

const isWorthAnotherTry = (error: unknown): boolean => {
  if (isKinoraError(error, 'source_unreachable')) return true;
  const status = isKinoraError(error, 'invalid_input') ? Number(error.details?.http_status) : 0;
  return status === 408 || status === 429 || status >= 500;
};

const readableSize = (bytes: number): string => {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${units[power]}`;
};

const numberOrUndefined = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;

/** Guarded, resumable download; see `SourceFetcher`. */
export const createSourceFetcher = (options: SourceFetcherOptions): SourceFetcher => {
  const { clock, logger, maxBytes, retryDelayMs = 1000, rateWindowMs = RATE_WINDOW_MS } = options;
  const get = createGuardedGet({
    ...options,
    isAllowedAddress: createAddressPolicy(options.allowPrivate),
    allowedUrls: options.allowedUrls ?? new Set(),
  });

  const originRanges = createOriginRanges({ get, retryDelayMs });

  /** To be told of every piece of one body. */
  const rateCheck = (): ((bytes: number) => void) => {
    let beganMs = clock.monotonicMs();
    let receivedBytes = 0;
    return (bytes) => {
      receivedBytes += bytes;
      const elapsedMs = clock.monotonicMs() - beganMs;
      if (elapsedMs < rateWindowMs) return;
      if (receivedBytes < (elapsedMs / 1000) * LEAST_BYTES_PER_SECOND) {
        throw new KinoraError('source_unreachable', { details: { reason: 'too slow', receivedBytes, elapsedMs } });
      }
      beganMs += elapsedMs;
      receivedBytes = 0;
    };
  };

  /** `output.target` becomes another one when `onRanges` gives it. */
  const download = async (
    url: string,
    output: { target: BlobWrite },
    fetchOptions: FetchOptions,
    signal: AbortSignal,
  ) => {
    let { validator, onRanges } = fetchOptions;
    const limitBytes = Math.min(maxBytes, fetchOptions.maxBytes ?? maxBytes);
    let reportedMs = -Infinity;

    const checkSize = (bytes: number): void => {
      if (bytes > limitBytes)
        throw invalid(`The input file is larger than the maximum size of ${readableSize(limitBytes)}.`);
    };

    const report = (totalBytes: number | undefined, isLast = false): void => {
      const nowMs = clock.monotonicMs();
      if (!isLast && nowMs - reportedMs < REPORT_INTERVAL_MS) return;
      reportedMs = nowMs;
      fetchOptions.onProgress?.(output.target.offsetBytes, totalBytes);
    };

    const startAgain = async (newValidator: string | undefined): Promise<void> => {
      // In this order: old bytes must never stand beside the validator of a new file.
      if (output.target.offsetBytes > 0) await output.target.restart();
      validator = newValidator;
      await fetchOptions.onValidator?.(newValidator);
    };

    /** Readies `target` for the body of `response`; returns the size of the whole file. */
    const accept = async (response: GuardedResponse, offsetBytes: number): Promise<number | undefined> => {
      if (response.status === 200) {
        const totalBytes = numberOrUndefined(response.header('content-length'));
        checkSize(totalBytes ?? 0);
        await startAgain(strongValidator(response));
        return totalBytes;
      }
      if (response.status === 206 && offsetBytes > 0) {
        const [, first, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.header('content-range') ?? '') ?? [];
        const current = strongValidator(response);
        if (Number(first) === offsetBytes && (current === undefined || current === validator)) {
          checkSize(numberOrUndefined(total) ?? 0);
          return numberOrUndefined(total);
        }
        await startAgain(undefined);
        throw new KinoraError('source_unreachable', { details: { reason: 'another range or file than asked for' } });
      }
      throw badStatus(response.status);
    };

    const tryOnce = async (): Promise<void> => {
      if (validator === undefined && output.target.offsetBytes > 0) await output.target.restart();
      const offsetBytes = output.target.offsetBytes;
      const range = { range: `bytes=${offsetBytes}-`, 'if-range': validator ?? '' };
      const response = await get(url, offsetBytes > 0 ? range : {}, signal);
      try {
        if (response.status === 416 && offsetBytes > 0) {
          if (response.header('content-range') === `bytes */${offsetBytes}`) return report(offsetBytes, true);
          await startAgain(undefined);
          throw new KinoraError('source_unreachable', { details: { reason: 'range refused' } });
        }
        const totalBytes = await accept(response, offsetBytes);
        const sendsParts = response.status === 206 || response.header('accept-ranges') === 'bytes';
        if (onRanges && sendsParts && totalBytes !== undefined && validator !== undefined) {
          const offer = onRanges;
          onRanges = undefined;
          output.target = (await offer(originRanges(url, { sizeBytes: totalBytes, validator }))) ?? output.target;
        }
        const checkRate = rateCheck();
        for await (const chunk of response.body) {
          checkRate(chunk.byteLength);
          checkSize(output.target.offsetBytes + chunk.byteLength);
          await output.target.write(chunk);
          report(totalBytes);
        }
        if (totalBytes !== undefined && output.target.offsetBytes !== totalBytes) {
          throw new KinoraError('source_unreachable', { details: { reason: 'body ended early' } });
        }
        report(totalBytes, true);
      } finally {
        await response.close();
      }
    };

    let mostBytes = output.target.offsetBytes;
    for (let tries = 1; ; tries += 1) {
      try {
        await tryOnce();
        break;
      } catch (error) {
        if (output.target.offsetBytes >= mostBytes + PROGRESS_BYTES) tries = 1;
        mostBytes = Math.max(mostBytes, output.target.offsetBytes);
        if (signal.aborted || tries >= MAX_TRIES || !isWorthAnotherTry(error)) throw error;
        const host = new URL(url).host;
        logger.warn({ err: error, host, received_bytes: output.target.offsetBytes }, 'download interrupted, retrying');
        await sleep(retryDelayMs * 3 ** (tries - 1), undefined, { signal });
      }
    }
    if (output.target.offsetBytes === 0) throw invalid('The input file is empty.');
  };

  return {
    fetch: async (url, target, fetchOptions) => {
      const output = { target };
      const limit = AbortSignal.timeout(TOTAL_LIMIT_MS);
      const signal = fetchOptions.signal === undefined ? limit : AbortSignal.any([fetchOptions.signal, limit]);
      try {
        await download(url, output, fetchOptions, signal);
        return await output.target.commit();
      } catch (error) {
        const failure = fetchOptions.signal?.aborted
          ? new KinoraError('cancelled', { cause: fetchOptions.signal.reason })
          : limit.aborted
            ? new KinoraError('source_unreachable', { cause: error })
            : error;
        // Without a caller that keeps the validator the bytes could never be gone on from.
        const close =
          isKinoraError(failure, 'invalid_input') || !fetchOptions.onValidator
            ? output.target.discard()
            : output.target.suspend();
        if (isKinoraError(failure, 'invalid_input') && failure.details?.reason === 'address')
          logger.warn(
            { host: new URL(url).host },
            'source at a private address refused; --allow-private-sources (KINORA_ALLOW_PRIVATE_SOURCES) allows it',
          );
        // The first failure says what went wrong; bytes left behind are found by the next `resumeWrite`.
        await close.catch((problem: unknown) => logger.warn({ err: problem }, 'unfinished download not removed'));
        throw failure;
      }
    },
  };
};

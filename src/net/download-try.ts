import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import type { BlobWrite } from '../storage/blob-store.js';
import { codingOf, decodeBody } from './decode-body.js';
import { checkSize, type FetchOptions, WEB_PAGE } from './fetch-source.js';
import { type GuardedGet, type GuardedResponse, strongValidator } from './guarded-get.js';
import type { OriginRanges } from './origin-ranges.js';
import { unreachable } from './unreachable.js';

/** One file on its way; each try goes on where the last one ended. */
export interface Download {
  readonly url: string;
  readonly limitBytes: number;
  readonly signal: AbortSignal;
  /** Becomes another one when `onRanges` gives it. */
  target: BlobWrite;
  /** Of the file version that the stored bytes belong to. */
  validator: string | undefined;
  /** Undefined once it was called. */
  onRanges: FetchOptions['onRanges'];
  /** Undefined once it was called. */
  onNoRanges: FetchOptions['onNoRanges'];
  readonly onValidator: FetchOptions['onValidator'];
  readonly report: (receivedBytes: number, totalBytes: number | undefined, isLast?: boolean) => void;
}

interface DownloadTryOptions {
  readonly client: GuardedGet;
  readonly ranges: OriginRanges;
  readonly clock: Clock;
  readonly rateWindowMs: number;
}

export const invalidInput = (message: string, details: Record<string, unknown> = {}): KinoraError =>
  new KinoraError('invalid_input', { messages: [message], details });

const badStatus = (status: number): KinoraError =>
  invalidInput(`The input file could not be downloaded: HTTP status ${status}.`, { http_status: status });

const brokenOff = (reason: string): KinoraError => unreachable(undefined, { reason });

/**
 * Servers send web pages in place of files: to sign in, or as their error.
 * @throws KinoraError `invalid_input` when a body that begins with `chunk` is one
 */
const rejectWebPage = (response: GuardedResponse, chunk: Uint8Array): void => {
  if (!/^\s*(text\/html|application\/xhtml\+xml)\b/i.test(response.header('content-type') ?? '')) return;
  const start = Buffer.from(chunk.subarray(0, 1024)).toString('latin1');
  if (/^(\xef\xbb\xbf)?\s*</.test(start))
    throw invalidInput('The server sent a web page (text/html).', { reason: WEB_PAGE });
};

const numberOrUndefined = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;

/** Asks once for what is missing of a file and stores it. */
export class DownloadTry {
  constructor(private readonly options: DownloadTryOptions) {}

  async run(download: Download): Promise<void> {
    const { client, ranges, clock, rateWindowMs } = this.options;
    const { url, signal, report } = download;
    if (download.validator === undefined && download.target.offsetBytes > 0) await download.target.restart();
    const offsetBytes = download.target.offsetBytes;
    const range = { range: `bytes=${offsetBytes}-`, 'if-range': download.validator ?? '' };
    const response = await client.get(url, offsetBytes > 0 ? range : {}, signal);
    try {
      if (response.status === 416 && offsetBytes > 0) {
        if (response.header('content-range') === `bytes */${offsetBytes}`)
          return report(offsetBytes, offsetBytes, true);
        await startAgain(download, undefined);
        throw brokenOff('range refused');
      }
      const totalBytes = await accept(download, response);
      const { validator, onRanges } = download;
      const rejection = whyNoRanges(response, totalBytes, validator);
      if (rejection !== undefined) {
        await download.onNoRanges?.(rejection);
        download.onNoRanges = undefined;
      } else if (onRanges) {
        download.onRanges = undefined;
        const other = await onRanges(ranges.fileAt(url, { sizeBytes: totalBytes!, validator: validator! }));
        download.target = other ?? download.target;
      }
      const rate = new RateCheck(clock, rateWindowMs);
      for await (const chunk of decodeBody(response)) {
        rate.add(chunk.byteLength);
        if (download.target.offsetBytes === 0) rejectWebPage(response, chunk);
        checkSize(download.limitBytes, download.target.offsetBytes + chunk.byteLength);
        await download.target.write(chunk);
        report(download.target.offsetBytes, totalBytes);
      }
      if (totalBytes !== undefined && download.target.offsetBytes !== totalBytes) throw brokenOff('body ended early');
      report(download.target.offsetBytes, totalBytes, true);
    } finally {
      response.close();
    }
  }
}

const whyNoRanges = (
  response: GuardedResponse,
  totalBytes: number | undefined,
  validator: string | undefined,
): string | undefined => {
  if (codingOf(response) !== undefined) return 'the origin compresses the file';
  if (response.status !== 206 && response.header('accept-ranges') !== 'bytes')
    return 'the origin does not send Accept-Ranges: bytes';
  if (totalBytes === undefined) return 'the origin does not send the size';
  return validator === undefined ? 'the origin does not send a strong validator' : undefined;
};

const startAgain = async (download: Download, validator: string | undefined): Promise<void> => {
  // In this order: old bytes must never stand beside the validator of a new file.
  if (download.target.offsetBytes > 0) await download.target.restart();
  download.validator = validator;
  await download.onValidator?.(validator);
};

/** Readies the target for the body of `response`; returns the size of the whole file. */
const accept = async (download: Download, response: GuardedResponse): Promise<number | undefined> => {
  const { offsetBytes } = download.target;
  const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(response.header('content-range') ?? '') ?? [];
  const isWhole = response.status === 206 && Number(first) === 0 && Number(last) + 1 === Number(total);
  if (response.status === 200 || (isWhole && offsetBytes === 0)) {
    const sentBytes = numberOrUndefined(isWhole ? total : response.header('content-length'));
    checkSize(download.limitBytes, sentBytes ?? 0);
    const isCoded = codingOf(response) !== undefined;
    // Neither the size nor ranges of the coded form are those of the file.
    await startAgain(download, isCoded ? undefined : strongValidator(response));
    return isCoded ? undefined : sentBytes;
  }
  if (response.status === 206 && offsetBytes > 0) {
    // The coding matches no validator.
    const current = codingOf(response) ?? strongValidator(response);
    if (Number(first) === offsetBytes && (current === undefined || current === download.validator)) {
      checkSize(download.limitBytes, numberOrUndefined(total) ?? 0);
      return numberOrUndefined(total);
    }
    await startAgain(download, undefined);
    throw brokenOff('another range or file than asked for');
  }
  throw badStatus(response.status);
};

/**
 * Slower than any origin that means well; a byte now and then would hold a place of the ingest for
 * hours.
 */
const LEAST_BYTES_PER_SECOND = 1024;
const TOO_SLOW = 'The input file could not be downloaded: the server sends it too slowly.';

/** Checks that one body arrives fast enough. */
class RateCheck {
  private beganMs: number;
  private receivedBytes = 0;

  constructor(
    private readonly clock: Clock,
    private readonly windowMs: number,
  ) {
    this.beganMs = clock.monotonicMs();
  }

  /** Counts a piece of the body. @throws KinoraError `source_unreachable` */
  add(bytes: number): void {
    this.receivedBytes += bytes;
    const elapsedMs = this.clock.monotonicMs() - this.beganMs;
    if (elapsedMs < this.windowMs) return;
    const { receivedBytes } = this;
    if (receivedBytes < (elapsedMs / 1000) * LEAST_BYTES_PER_SECOND) {
      throw new KinoraError('source_unreachable', {
        messages: [TOO_SLOW],
        details: { reason: 'too slow', receivedBytes, elapsedMs },
      });
    }
    this.beganMs += elapsedMs;
    this.receivedBytes = 0;
  }
}

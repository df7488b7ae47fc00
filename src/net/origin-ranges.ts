import { setTimeout as sleep } from 'node:timers/promises';
import type { ByteRange } from '../lib/byte-ranges.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { codingOf } from './decode-body.js';
import type { RemoteFile } from './fetch-source.js';
import type { GuardedResponse } from './guarded-get.js';
import { strongValidator } from './strong-validator.js';
import { unreachable } from './unreachable.js';

interface OriginRangesOptions {
  readonly get: (url: string, headers: Record<string, string>, signal: AbortSignal) => Promise<GuardedResponse>;
  readonly retryDelayMs: number;
}

const MAX_TRIES = 3;

const parseContentRange = (
  response: GuardedResponse,
): { start: number; end: number; sizeBytes: number } | undefined => {
  const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(response.header('content-range') ?? '') ?? [];
  return total === undefined ? undefined : { start: Number(first), end: Number(last) + 1, sizeBytes: Number(total) };
};

const changed = (status: number): KinoraError =>
  new KinoraError('source_changed', { details: { http_status: status, reason: 'another file or no ranges' } });
const brokenOff = (reason: string): KinoraError => unreachable(undefined, { reason });

/** Reads parts of one version of a remote file; see `RangeOrigin`. */
export const createOriginRanges = ({ get, retryDelayMs }: OriginRangesOptions) => {
  async function* readOnce(
    url: string,
    file: Pick<RemoteFile, 'sizeBytes' | 'validator'>,
    range: ByteRange,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const headers = { range: `bytes=${range.start}-${range.end - 1}`, 'if-range': file.validator };
    const response = await get(url, headers, signal);
    try {
      const got = parseContentRange(response);
      const { status } = response;
      if (status === 408 || status === 429 || status >= 500) throw brokenOff(`HTTP status ${status}`);
      if (
        status !== 206 ||
        codingOf(response) !== undefined ||
        got?.start !== range.start ||
        got.sizeBytes !== file.sizeBytes
      )
        throw changed(status);
      if ((strongValidator(response) ?? file.validator) !== file.validator) throw changed(status);
      let left = range.end - range.start;
      for await (const chunk of response.body) {
        left -= chunk.byteLength;
        if (left < 0) throw changed(status);
        yield chunk;
      }
      if (left > 0) throw brokenOff('body ended early');
    } finally {
      await response.close();
    }
  }

  return (url: string, file: Pick<RemoteFile, 'sizeBytes' | 'validator'>): RemoteFile => ({
    ...file,
    read: async function* (range, signal) {
      let { start } = range;
      for (let tries = 1; start < range.end; tries += 1) {
        try {
          for await (const chunk of readOnce(url, file, { start, end: range.end }, signal)) {
            start += chunk.byteLength;
            yield chunk;
          }
          return;
        } catch (error) {
          if (signal.aborted || tries >= MAX_TRIES || !isKinoraError(error, 'source_unreachable')) throw error;
          await sleep(retryDelayMs * 3 ** (tries - 1), undefined, { signal });
        }
      }
    },
  });
};

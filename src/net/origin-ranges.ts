import { setTimeout as sleep } from 'node:timers/promises';
import type { ByteRange } from '../lib/byte-ranges.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { codingOf } from './decode-body.js';
import type { RemoteFile } from './fetch-source.js';
import { type GuardedGet, type GuardedResponse, strongValidator } from './guarded-get.js';
import { unreachable } from './unreachable.js';

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
export class OriginRanges {
  constructor(
    private readonly client: GuardedGet,
    private readonly retryDelayMs: number,
  ) {}

  fileAt(url: string, file: Pick<RemoteFile, 'sizeBytes' | 'validator'>): RemoteFile {
    return { ...file, read: (range, signal) => this.read(url, file, range, signal) };
  }

  private async *read(
    url: string,
    file: Pick<RemoteFile, 'sizeBytes' | 'validator'>,
    range: ByteRange,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    let { start } = range;
    for (let tries = 1; start < range.end; tries += 1) {
      try {
        for await (const chunk of this.readOnce(url, file, { start, end: range.end }, signal)) {
          start += chunk.byteLength;
          yield chunk;
        }
        return;
      } catch (error) {
        if (signal.aborted || tries >= MAX_TRIES || !isKinoraError(error, 'source_unreachable')) throw error;
        await sleep(this.retryDelayMs * 3 ** (tries - 1), undefined, { signal });
      }
    }
  }

  private async *readOnce(
    url: string,
    file: Pick<RemoteFile, 'sizeBytes' | 'validator'>,
    range: ByteRange,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const headers = { range: `bytes=${range.start}-${range.end - 1}`, 'if-range': file.validator };
    const response = await this.client.get(url, headers, signal);
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
      response.close();
    }
  }
}

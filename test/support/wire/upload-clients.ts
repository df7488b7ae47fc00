import { expect } from 'vitest';
import { sendBytes } from './uploading.js';

export const TUS = { 'tus-resumable': '1.0.0' };
export const TUS_PATCH = { ...TUS, 'content-type': 'application/offset+octet-stream' };

type Progress = number | 'complete' | undefined;

/**
 * How a client speaks to the server at `origin`; the answers are undefined when it must ask again.
 */
export interface UploadClient {
  ask(origin: string): Promise<Progress>;
  send(origin: string, start: number, end: number): Promise<Progress>;
}

const isLater = ({ status }: Response): boolean => status === 503 || status === 423;

export const rangeEnd = (response: Response): number => {
  const range = response.headers.get('range');
  return range === null ? 0 : Number(/^bytes=0-(\d+)$/.exec(range)![1]) + 1;
};

/** @param path of the upload's URL */
export const putClient = (path: string, file: Buffer): UploadClient => {
  const read = (response: Response): Progress => {
    if (isLater(response)) return undefined;
    expect([200, 308]).toContain(response.status);
    return response.status === 200 ? 'complete' : rangeEnd(response);
  };
  const range = (text: string) => ({ 'content-range': `bytes ${text}/${file.length}` });
  return {
    ask: async (origin) => read(await sendBytes(origin + path, undefined, range('*'))),
    send: async (origin, start, end) =>
      read(await sendBytes(origin + path, file.subarray(start, end), range(`${start}-${end - 1}`))),
  };
};

/** Declares the size with the last chunk, or earlier where `declares` says so. */
export const tusClient = (path: string, file: Buffer, declares: () => boolean): UploadClient => {
  let isDeferred = true;
  const read = (response: Response): Progress => {
    if (isLater(response) || response.status === 409) return undefined;
    expect([200, 204]).toContain(response.status);
    const offset = Number(response.headers.get('upload-offset'));
    return offset === file.length ? 'complete' : offset;
  };
  return {
    ask: async (origin) => {
      const response = await sendBytes(origin + path, undefined, TUS, 'HEAD');
      isDeferred = response.headers.has('upload-defer-length');
      return read(response);
    },
    send: async (origin, start, end) => {
      const declared = isDeferred && (end === file.length || declares());
      const headers = {
        ...TUS_PATCH,
        'upload-offset': String(start),
        ...(declared && { 'upload-length': String(file.length) }),
      };
      return read(await sendBytes(origin + path, file.subarray(start, end), headers, 'PATCH'));
    },
  };
};

/** Numbers from 0 to below a limit, always the same ones for a seed. */
export const createBelow = (seed: number) => {
  let state = seed;
  return (limit: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
};

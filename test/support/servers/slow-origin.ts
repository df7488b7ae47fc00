import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { type Origin, startOrigin } from './origin.js';

export interface SlowOrigin extends Origin {
  /** Adds a file; `holdAtBytes` stops each answer there until `release`. */
  add(name: string, bytes: Buffer, holdAtBytes?: number, options?: { readonly sendsParts?: boolean }): string;
  /** Another version takes the place of a file. */
  replace(name: string, bytes: Buffer): void;
  /** Lets every held answer continue, also those to come: of all files, or of one. */
  release(name?: string): void;
  /** Breaks the held answers of a file off. */
  cut(name: string): void;
  /** The parts that were sent of a file; `end` is exclusive. */
  partsOf(name: string): { start: number; end: number }[];
  /** Of whole files and of what follows a place in them. */
  requestsOf(name: string): { range: string | undefined; ifRange: string | undefined }[];
}

/**
 * A static server with entity tags that holds answers in the middle while a test looks. It goes on
 * after a place in a file; with `sendsParts` it tells that it sends any part, and does so at once.
 */
export const startSlowOrigin = async (): Promise<SlowOrigin> => {
  const files = new Map<string, { bytes: Buffer; holdAtBytes: number; sendsParts: boolean; version: number }>();
  const parts: { name: string; start: number; end: number }[] = [];
  let held: { name: string; response: ServerResponse; finish: () => void }[] = [];
  let holding = true;
  const released = new Set<string>();

  const send = (name: string, response: ServerResponse, body: Buffer, until: number): void => {
    if (!holding || released.has(name) || until <= 0 || until >= body.length) {
      response.end(body);
      return;
    }
    response.write(body.subarray(0, until));
    held.push({ name, response, finish: () => response.end(body.subarray(until)) });
  };
  const origin = await startOrigin((request, response) => {
    const name = (request.url ?? '').slice(1).split('?')[0]!;
    const file = files.get(name);
    if (file === undefined) {
      response.writeHead(404).end();
      return;
    }
    const { bytes, holdAtBytes, sendsParts, version } = file;
    const etag = `"${name}${version === 0 ? '' : `-${version}`}"`;
    const [, range, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const isCurrent = request.headers['if-range'] === etag;
    if (sendsParts && last && isCurrent) {
      const part = bytes.subarray(Number(range), Number(last) + 1);
      parts.push({ name, start: Number(range), end: Number(last) + 1 });
      response.writeHead(206, {
        etag,
        'content-range': `bytes ${range}-${last}/${bytes.length}`,
        'content-length': part.length,
      });
      response.end(part);
      return;
    }
    const start = range !== undefined && !last && isCurrent ? Number(range) : 0;
    response.writeHead(start > 0 ? 206 : 200, {
      etag,
      ...(sendsParts && { 'accept-ranges': 'bytes' }),
      'content-length': bytes.length - start,
      ...(start > 0 && { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
    });
    send(name, response, bytes.subarray(start), holdAtBytes - start);
  });
  return {
    ...origin,
    add: (name, bytes, holdAtBytes = 0, { sendsParts = false } = {}) => {
      files.set(name, { bytes, holdAtBytes, sendsParts, version: 0 });
      return `${origin.url}/${name}`;
    },
    replace: (name, bytes) => {
      const { version, ...file } = files.get(name)!;
      files.set(name, { ...file, bytes, version: version + 1 });
    },
    release: (only) => {
      if (only === undefined) holding = false;
      else released.add(only);
      const going = held.filter(({ name }) => only === undefined || name === only);
      held = held.filter((response) => !going.includes(response));
      for (const { finish } of going) finish();
    },
    cut: (name) => {
      for (const response of held) if (response.name === name) response.response.destroy();
      held = held.filter((response) => response.name !== name);
    },
    partsOf: (name) => parts.filter((part) => part.name === name).map(({ start, end }) => ({ start, end })),
    requestsOf: (name) =>
      origin.requests
        .filter(({ url, headers }) => url === `/${name}` && !/-\d+$/.test(headers.range ?? ''))
        .map(({ headers }) => ({ range: headers.range, ifRange: headers['if-range'] as string | undefined })),
  };
};

/** The file at `path` made longer by a box that every reader of MP4 skips. */
export const paddedMp4 = async (path: string, sizeBytes: number): Promise<Buffer> => {
  const bytes = await readFile(path);
  const free = Buffer.alloc(sizeBytes - bytes.length);
  free.writeUInt32BE(free.length, 0);
  free.write('free', 4, 'latin1');
  return Buffer.concat([bytes, free]);
};

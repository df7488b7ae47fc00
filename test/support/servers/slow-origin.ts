import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { type Origin, startOrigin } from './origin.js';

export interface SlowOrigin extends Origin {
  /** Adds a file; `holdAtBytes` stops each answer there until `release`. */
  add(name: string, bytes: Buffer, holdAtBytes?: number): string;
  /** Lets every held answer continue, also those to come. */
  release(): void;
  requestsOf(name: string): { range: string | undefined; ifRange: string | undefined }[];
}

/** A static server with ranges and entity tags that holds answers in the middle while a test looks. */
export const startSlowOrigin = async (): Promise<SlowOrigin> => {
  const files = new Map<string, { bytes: Buffer; holdAtBytes: number }>();
  let held: (() => void)[] = [];
  let holding = true;

  const send = (response: ServerResponse, body: Buffer, until: number): void => {
    if (!holding || until <= 0 || until >= body.length) {
      response.end(body);
      return;
    }
    response.write(body.subarray(0, until));
    held.push(() => response.end(body.subarray(until)));
  };
  const origin = await startOrigin((request, response) => {
    const name = (request.url ?? '').slice(1).split('?')[0]!;
    const file = files.get(name);
    if (file === undefined) {
      response.writeHead(404).end();
      return;
    }
    const { bytes, holdAtBytes } = file;
    const etag = `"${name}"`;
    const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1];
    const start = range !== undefined && request.headers['if-range'] === etag ? Number(range) : 0;
    response.writeHead(start > 0 ? 206 : 200, {
      etag,
      'content-length': bytes.length - start,
      ...(start > 0 && { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
    });
    send(response, bytes.subarray(start), holdAtBytes - start);
  });
  return {
    ...origin,
    add: (name, bytes, holdAtBytes = 0) => {
      files.set(name, { bytes, holdAtBytes });
      return `${origin.url}/${name}`;
    },
    release: () => {
      holding = false;
      for (const go of held) go();
      held = [];
    },
    requestsOf: (name) =>
      origin.requests
        .filter(({ url }) => url === `/${name}`)
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

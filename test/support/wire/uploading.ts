import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { filesBelow } from '../servers/server-process.js';

/** An upload on the wire. */
export interface WireUpload {
  id: string;
  status: string;
  timeout: number;
  cors_origin: string;
  new_asset_settings: Record<string, unknown>;
  url?: string;
  asset_id?: string;
  early_playback_ids?: { id: string; policy: string }[];
  error?: { type: string; message: string };
  test?: boolean;
}

export const sendBytes = (
  url: string,
  body: Uint8Array | undefined,
  headers: Record<string, string> = {},
  method = 'PUT',
) => fetch(url, { method, headers, ...(body && { body: body as Uint8Array<ArrayBuffer> }) });

/** A chunk of `file`; `end` is exclusive as in `slice`. */
export const sendChunk = (url: string, file: Buffer, start: number, end: number, total: number | '*' = file.length) =>
  sendBytes(url, file.subarray(start, end), { 'content-range': `bytes ${start}-${end - 1}/${total}` });

export const askStatus = (url: string, total: number | '*') =>
  sendBytes(url, undefined, { 'content-range': `bytes */${total}` });

export interface OpenRequest {
  readonly request: ClientRequest;
  /** Resolves once the bytes were handed to the system. */
  send(bytes: Uint8Array): Promise<void>;
  response(): Promise<{ status: number; headers: IncomingMessage['headers']; body: string }>;
  /** Breaks the connection off. */
  cut(): void;
}

/**
 * A request whose body is sent piece by piece; in pieces of unknown number without a
 * `content-length` in `headers`.
 */
export const openRequest = (url: string, headers: Record<string, string | number>, method = 'PUT'): OpenRequest => {
  const outgoing = request(url, { method, headers, agent: false });
  const responded = once(outgoing, 'response').then(async ([response]: IncomingMessage[]) => {
    let body = '';
    for await (const chunk of response!) body += chunk;
    return { status: response!.statusCode!, headers: response!.headers, body };
  });
  // Otherwise Node tells the length of a body that is sent at once.
  outgoing.flushHeaders();
  // Who cuts the connection does not ask for the answer.
  responded.catch(() => undefined);
  outgoing.on('error', () => undefined);
  return {
    request: outgoing,
    send: (bytes) => new Promise((resolve) => void outgoing.write(bytes, () => resolve())),
    response: () => responded,
    cut: () => void outgoing.destroy(),
  };
};

/**
 * What the blob store in `dir` has of an asset to come: bytes of unfinished files and of finished
 * ones.
 */
export const storedIn = async (dir: string, assetId: string): Promise<{ partial?: Buffer; source?: Buffer }> => {
  const read = (path: string) => readFile(join(dir, path)).catch(() => undefined);
  const partial = await read(`.partial/assets~${assetId}~source`);
  const source = await read(`assets/${assetId}/source`);
  return { ...(partial && { partial }), ...(source && { source }) };
};

/** Every file of the blob store that names the asset. */
export const filesOf = (dir: string, assetId: string): string[] =>
  filesBelow(dir).filter((path) => path.includes(assetId));

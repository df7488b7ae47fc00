import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '../../lib/backoff.js';
import { KinoraError } from '../../lib/errors.js';
import type { ApiCall } from './api-client.js';
import { type ChunkSource, fileChunks, StreamChunks } from './chunks.js';
import type { Progress } from './progress.js';
import type { Source } from './sources.js';

interface ApiUpload {
  readonly id: string;
  readonly status: string;
  readonly url?: string;
  readonly asset_id?: string;
  readonly error?: { readonly message: string };
}

/** Consecutive tries without progress; with their pauses, about a minute. */
const MAX_VAIN_TRIES = 10;
const PAUSE = { baseMs: 500, maxMs: 10_000 };
/** Responses of a server that is restarting or busy, or of a proxy in front of it. */
const RETRIED = new Set([408, 429, 502, 503, 504]);

/**
 * Sends a file or standard input by direct upload, in chunks. After a lost chunk it continues from
 * what the server has stored.
 * @param settings `new_asset_settings` of the API
 * @returns the ID of the resulting asset
 */
export const uploadSource = async (
  api: ApiCall,
  source: Exclude<Source, { kind: 'url' }>,
  settings: object,
  progress: Progress,
): Promise<string> => {
  if (source.kind === 'stdin') {
    const chunks = new StreamChunks(process.stdin);
    const { bytes } = await chunks.chunkAt(0);
    if (bytes.length === 0) throw unusable('Standard input is empty.');
    return upload(api, chunks, source.label, settings, progress);
  }
  const { path, label } = source;
  const file = await openFile(path);
  try {
    const { size } = await file.stat();
    if (size === 0) throw unusable(`${path} is empty.`);
    return await upload(api, fileChunks(file, path, size), label, settings, progress);
  } finally {
    await file.close();
  }
};

const upload = async (
  api: ApiCall,
  chunks: ChunkSource,
  label: string,
  settings: object,
  progress: Progress,
): Promise<string> => {
  const { data: created } = await api<ApiUpload>('POST', '/video/v1/uploads', { new_asset_settings: settings });
  await send({ chunks, label, url: created.url!, progress });
  const { data: ended } = await api<ApiUpload>('GET', `/video/v1/uploads/${created.id}`);
  if (ended.asset_id !== undefined) return ended.asset_id;
  throw unusable(ended.error?.message ?? `The upload ended as ${ended.status}.`);
};

const unusable = (message: string, cause?: unknown): KinoraError =>
  new KinoraError('invalid_parameters', { messages: [message], cause });

const openFile = async (path: string): Promise<FileHandle> => {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') {
      throw unusable(`There is no file ${path}; name a file, a folder or an http(s) URL.`);
    }
    throw unusable(`${path} can't be read.`, error);
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw unusable(`${path} is not a file.`);
};

interface Transfer {
  readonly chunks: ChunkSource;
  readonly label: string;
  readonly url: string;
  readonly progress: Progress;
}

const send = async ({ chunks, label, url, progress }: Transfer): Promise<void> => {
  let storedBytes = 0;
  const show = (word: string): void => {
    const { sizeBytes } = chunks;
    if (sizeBytes === undefined) progress.show(`${word} ${label}: ${Math.floor(storedBytes / 1e6)} MB`);
    else progress.bar(`${word} ${label}`, storedBytes / sizeBytes);
  };
  for (let vainTries = 0; vainTries < MAX_VAIN_TRIES; ) {
    show('uploading');
    const { bytes, isLast } = await chunks.chunkAt(storedBytes);
    const endBytes = storedBytes + bytes.length;
    const response = await put(url, bytes, {
      'content-type': 'application/octet-stream',
      'content-range': `bytes ${storedBytes}-${endBytes - 1}/${isLast ? endBytes : (chunks.sizeBytes ?? '*')}`,
    });
    if (response?.ok && isLast) {
      storedBytes = endBytes;
      show('uploading');
      return;
    }
    const nowBytes = response && storedBytesOf(response);
    if (nowBytes !== undefined && nowBytes > storedBytes) vainTries = 0;
    else {
      if (response && nowBytes === undefined && !RETRIED.has(response.status)) throw await rejection(response);
      vainTries += 1;
      show('retrying');
      await delay(backoffMs(vainTries, PAUSE));
    }
    storedBytes = nowBytes ?? storedBytes;
  }
  throw new KinoraError('unavailable', {
    messages: [`The connection to ${new URL(url).origin} was lost and could not be restored.`],
  });
};

/** Undefined when the connection failed. */
const put = async (
  url: string,
  body: Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
): Promise<Response | undefined> => {
  try {
    return await fetch(url, { method: 'PUT', headers, body });
  } catch {
    // After any failure, the chunk is sent again.
    return undefined;
  }
};

/**
 * The number of bytes on the server if the response says so: 308 after a part, 416 when it has less
 * than expected.
 */
const storedBytesOf = ({ status, headers }: Response): number | undefined => {
  if (status !== 308 && status !== 416) return undefined;
  const last = /^bytes=0-(\d+)$/.exec(headers.get('range') ?? '')?.[1];
  return last === undefined ? 0 : Number(last) + 1;
};

const rejection = async (response: Response): Promise<KinoraError> => {
  const body = (await response.json().catch(() => undefined)) as { error?: { messages?: string[] } } | undefined;
  return unusable(body?.error?.messages?.join(' ') ?? `The server answered the upload with status ${response.status}.`);
};

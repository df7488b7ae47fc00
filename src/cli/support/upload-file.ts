import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '../../lib/backoff.js';
import { KinoraError } from '../../lib/errors.js';
import type { ApiCall } from './api-client.js';

interface ApiUpload {
  readonly id: string;
  readonly status: string;
  readonly url?: string;
  readonly asset_id?: string;
  readonly error?: { readonly message: string };
}

const CHUNK_BYTES = 8 * 1024 * 1024;
/** Consecutive tries without progress; with their pauses, about a minute. */
const MAX_VAIN_TRIES = 10;
const PAUSE = { baseMs: 500, maxMs: 10_000 };
/** Responses of a server that is restarting or busy, or of a proxy in front of it. */
const RETRIED = new Set([408, 429, 502, 503, 504]);

/**
 * Sends a file by direct upload, in chunks. After a lost chunk it continues from what the server has stored.
 * @param settings `new_asset_settings` of the API
 * @returns the ID of the resulting asset
 */
export const uploadFile = async (
  api: ApiCall,
  path: string,
  settings: object,
  show: (progress: string) => void,
): Promise<string> => {
  const file = await openFile(path);
  try {
    const { size } = await file.stat();
    if (size === 0) throw unusable(`${path} is empty.`);
    const { data: upload } = await api<ApiUpload>('POST', '/video/v1/uploads', { new_asset_settings: settings });
    await send({ file, path, sizeBytes: size, url: upload.url!, show });
    const { data: ended } = await api<ApiUpload>('GET', `/video/v1/uploads/${upload.id}`);
    if (ended.asset_id !== undefined) return ended.asset_id;
    throw unusable(ended.error?.message ?? `The upload ended as ${ended.status}.`);
  } finally {
    await file.close();
  }
};

const unusable = (message: string, cause?: unknown): KinoraError =>
  new KinoraError('invalid_parameters', { messages: [message], cause });

const openFile = async (path: string): Promise<FileHandle> => {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') {
      throw unusable(`There is no file ${path}; name a file or an http(s) URL.`);
    }
    throw unusable(`${path} can't be read.`, error);
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw unusable(`${path} is not a file.`);
};

interface Transfer {
  readonly file: FileHandle;
  readonly path: string;
  readonly sizeBytes: number;
  readonly url: string;
  readonly show: (progress: string) => void;
}

const send = async ({ file, path, sizeBytes, url, show }: Transfer): Promise<void> => {
  const buffer = new Uint8Array(Math.min(CHUNK_BYTES, sizeBytes));
  let storedBytes = 0;
  for (let vainTries = 0; vainTries < MAX_VAIN_TRIES; ) {
    show(`uploading ${Math.floor((100 * storedBytes) / sizeBytes)} %`);
    const length = Math.min(CHUNK_BYTES, sizeBytes - storedBytes);
    const { bytesRead } = await file.read(buffer, 0, length, storedBytes);
    if (bytesRead < length) throw unusable(`${path} was truncated while it was read.`);
    const answer = await put(url, buffer.subarray(0, length), {
      'content-type': 'application/octet-stream',
      'content-range': `bytes ${storedBytes}-${storedBytes + length - 1}/${sizeBytes}`,
    });
    if (answer?.ok) return show('uploading 100 %');
    const nowBytes = answer && storedBytesOf(answer);
    if (nowBytes !== undefined && nowBytes > storedBytes) vainTries = 0;
    else {
      if (answer && nowBytes === undefined && !RETRIED.has(answer.status)) throw await refusal(answer);
      vainTries += 1;
      show(`uploading: retrying, ${Math.floor((100 * storedBytes) / sizeBytes)} % stored`);
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
 * The number of bytes on the server if the response says so: 308 after a part, 416 when it has less than expected.
 */
const storedBytesOf = ({ status, headers }: Response): number | undefined => {
  if (status !== 308 && status !== 416) return undefined;
  const last = /^bytes=0-(\d+)$/.exec(headers.get('range') ?? '')?.[1];
  return last === undefined ? 0 : Number(last) + 1;
};

const refusal = async (answer: Response): Promise<KinoraError> => {
  const body = (await answer.json().catch(() => undefined)) as { error?: { messages?: string[] } } | undefined;
  return unusable(body?.error?.messages?.join('; ') ?? `The server answered the upload with status ${answer.status}.`);
};

import type { Upload as TusUpload } from 'tus-js-client';
import { sentenceOf } from '../api/client';
import { cancelUpload, createFromUrl, createUpload, getUpload, type NewAssetSettings } from '../api/uploads';
import { createStore } from '../ui/store';
import { fingerprintOf, keptUploads } from './kept-uploads';

export type UploadState =
  /** Its turn comes. */
  | 'queued'
  | 'uploading'
  | 'paused'
  /** A reload ended it; it continues when the same file is chosen. */
  | 'interrupted'
  /** The server has the whole file, or the URL. */
  | 'sent'
  | 'failed';

export interface UploadItem {
  readonly key: string;
  readonly name: string;
  readonly state: UploadState;
  /** Bytes; 0 for a URL, which the server downloads itself. */
  readonly size: number;
  readonly sent: number;
  readonly uploadId?: string;
  readonly assetId?: string;
  readonly problem?: string;
}

/** What an item needs besides what is displayed. */
interface Work {
  readonly environmentId: string;
  readonly settings: NewAssetSettings;
  readonly file?: File;
  readonly url?: string;
  tus?: TusUpload;
}

/** Files that are sent at once: more don't make it faster, and the browser has six connections. */
const AT_ONCE = 3;
/** Proxies often limit the size of a request, and a part that is lost is sent again. */
const PART_BYTES = 32_000_000;
/** Waits before a part is sent again, in milliseconds. Then the upload waits for the person. */
const RETRY_DELAYS_MS = [0, 1000, 3000, 5000, 10_000, 20_000];
/** The storage is written to after each of these shares of a file. */
const KEEP_BYTES = 1_000_000;

/** The uploads of this window, the oldest first. They go on while other screens are displayed. */
export const uploads = createStore<readonly UploadItem[]>([]);
const tasks = new Map<string, Work>();
let lastKey = 0;

const find = (key: string): UploadItem | undefined => uploads.get().find((item) => item.key === key);
const change = (key: string, values: Partial<UploadItem>): void =>
  uploads.set(uploads.get().map((item) => (item.key === key ? { ...item, ...values } : item)));
const add = (item: Omit<UploadItem, 'key'>, task: Work): void => {
  const key = String(++lastKey);
  tasks.set(key, task);
  uploads.set([...uploads.get(), { key, ...item }]);
};
const drop = (key: string): void => {
  tasks.delete(key);
  uploads.set(uploads.get().filter((item) => item.key !== key));
};
const fail = (key: string, error: unknown): void => {
  change(key, { state: 'failed', problem: sentenceOf(error) });
  startNext();
};

const startNext = (): void => {
  const items = uploads.get();
  let free = AT_ONCE - items.filter(({ state }) => state === 'uploading').length;
  for (const { key, state } of items) {
    if (free <= 0) return;
    if (state !== 'queued') continue;
    free--;
    change(key, { state: 'uploading' });
    const task = tasks.get(key)!;
    (task.url === undefined ? sendFile(key, task) : sendUrl(key, task)).catch((error: unknown) => fail(key, error));
  }
};

const titleOfUrl = (url: string): string => {
  const name = URL.canParse(url) ? (new URL(url).pathname.split('/').at(-1) ?? '') : '';
  try {
    return decodeURIComponent(name);
  } catch {
    // A percent sign that encodes nothing.
    return name;
  }
};

const sendUrl = async (key: string, { url, settings }: Work): Promise<void> => {
  const asset = await createFromUrl(url!, titleOfUrl(url!), settings);
  change(key, { state: 'sent', assetId: asset.id });
  startNext();
};

/** Continues the upload that this file had before, when the server still waits for it. */
const findUpload = async (
  file: File,
  { environmentId, settings }: Work,
): Promise<{ id: string; path: string; isKnown: boolean }> => {
  const fingerprint = fingerprintOf(file, environmentId);
  const keptUpload = keptUploads.find(fingerprint);
  const serverUpload = keptUpload && (await getUpload(keptUpload.uploadId).catch(() => undefined));
  if (keptUpload && serverUpload?.status === 'waiting')
    return { id: keptUpload.uploadId, path: keptUpload.path, isKnown: true };
  const created = await createUpload(file.name, settings);
  // The same origin as the console, also when the server tells others a different one.
  const { pathname, search } = new URL(created.url!);
  const path = pathname.replace('/u/', '/tus/') + search;
  keptUploads.keep(fingerprint, {
    uploadId: created.id,
    path,
    name: file.name,
    size: file.size,
    sent: 0,
    environmentId,
  });
  return { id: created.id, path, isKnown: false };
};

const sendFile = async (key: string, task: Work): Promise<void> => {
  const file = task.file!;
  const fingerprint = fingerprintOf(file, task.environmentId);
  const { Upload, DetailedError } = await import('tus-js-client');
  const { id, path, isKnown } = await findUpload(file, task);
  // It was paused or removed meanwhile.
  if (find(key)?.state !== 'uploading') return;
  change(key, { uploadId: id });
  const address = new URL(path, location.origin).href;
  let keptBytes = 0;
  const tus = new Upload(file, {
    endpoint: address,
    ...(isKnown && { uploadUrl: address }),
    chunkSize: PART_BYTES,
    retryDelays: RETRY_DELAYS_MS,
    // The browser's storage is written to here.
    storeFingerprintForResuming: false,
    onProgress: (sent) => {
      change(key, { sent });
      if (sent - keptBytes < KEEP_BYTES) return;
      keptBytes = sent;
      const { environmentId } = task;
      keptUploads.keep(fingerprint, { uploadId: id, path, name: file.name, size: file.size, sent, environmentId });
    },
    onSuccess: () => {
      keptUploads.forget(fingerprint);
      change(key, { state: 'sent', sent: file.size });
      startNext();
    },
    onError: (error) => fail(key, error instanceof DetailedError ? readProblem(error) : error),
  });
  task.tus = tus;
  tus.start();
};

/** The server's sentence, which the client's error has within technical details. */
const readProblem = (error: { originalResponse: { getBody(): string } | null }): Error => {
  try {
    const body = JSON.parse(error.originalResponse!.getBody()) as { error: { messages: string[] } };
    return new Error(body.error.messages.join(' '));
  } catch {
    return new Error('The connection was lost. What was sent is kept: resume when the server can be reached.');
  }
};

/** Puts files into the queue; one that an earlier visit began is continued. */
export const addFiles = (files: readonly File[], environmentId: string, settings: NewAssetSettings): void => {
  for (const file of files) {
    const fingerprint = fingerprintOf(file, environmentId);
    const keptUpload = keptUploads.find(fingerprint);
    const interrupted = uploads
      .get()
      .find(({ state, uploadId }) => state === 'interrupted' && uploadId === keptUpload?.uploadId);
    if (interrupted) drop(interrupted.key);
    add(
      { name: file.name, size: file.size, sent: keptUpload?.sent ?? 0, state: 'queued' },
      { file, environmentId, settings },
    );
  }
  startNext();
};

export const addUrls = (urls: readonly string[], environmentId: string, settings: NewAssetSettings): void => {
  for (const url of urls) add({ name: url, size: 0, sent: 0, state: 'queued' }, { url, environmentId, settings });
  startNext();
};

/** Lists the uploads of an environment that a reload ended. */
export const recallInterrupted = (environmentId: string): void => {
  for (const { uploadId, name, size, sent } of keptUploads.list(environmentId)) {
    if (uploads.get().some((item) => item.uploadId === uploadId)) continue;
    add(
      { name, size, sent, uploadId, state: 'interrupted' },
      { environmentId, settings: { policy: 'public', quality: '' } },
    );
  }
};

export const pauseUpload = (key: string): void => {
  change(key, { state: 'paused' });
  void tasks.get(key)?.tus?.abort();
  startNext();
};

export const resumeUpload = (key: string): void => {
  const { problem: _, ...item } = find(key)!;
  uploads.set(uploads.get().map((other) => (other.key === key ? { ...item, state: 'queued' } : other)));
  startNext();
};

/** Takes an upload out of the list. One that isn't complete is cancelled. */
export const removeUpload = (key: string): void => {
  const item = find(key);
  const task = tasks.get(key);
  if (!item || !task) return;
  void task.tus?.abort();
  drop(key);
  if (item.uploadId !== undefined && item.state !== 'sent') {
    for (const { fingerprint, uploadId } of keptUploads.list(task.environmentId)) {
      if (uploadId === item.uploadId) keptUploads.forget(fingerprint);
    }
    // It may have ended by itself; otherwise it times out.
    cancelUpload(item.uploadId).catch(() => {});
  }
  startNext();
};

export const pauseAll = (): void => {
  for (const { key, state } of uploads.get()) if (state === 'uploading' || state === 'queued') pauseUpload(key);
};
export const resumeAll = (): void => {
  for (const { key, state } of uploads.get()) if (state === 'paused' || state === 'failed') resumeUpload(key);
};

/** Whether leaving the page would stop something. */
export const isUploading = (): boolean =>
  uploads.get().some(({ state }) => state === 'uploading' || state === 'queued');

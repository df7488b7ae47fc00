import { newId } from '../lib/ids.js';
import { HttpClient } from './http-client.js';

/** A file and form fields for a URL that the operator configured, so every address is allowed. */
export interface RecordingPost {
  readonly url: string;
  /** Sent as a bearer token. */
  readonly key?: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly file: { readonly name: string; readonly type: string; readonly bytes: Uint8Array };
  readonly maxResponseBytes: number;
  readonly signal: AbortSignal;
  /** The longest time without a byte, once the response has begun; two minutes by default. */
  readonly bodyStallMs?: number;
}

const BODY_STALL_MS = 2 * 60_000;

export interface RecordingResponse {
  readonly status: number;
  readonly body: string;
  /** In milliseconds. */
  readonly retryAfterMs?: number;
}

/**
 * Posts `multipart/form-data` and reads the whole response. Redirects are not followed. Throws
 * network errors unchanged.
 */
export const postRecording = async (post: RecordingPost): Promise<RecordingResponse> => {
  const { url, key, fields, file, signal, bodyStallMs = BODY_STALL_MS } = post;
  const boundary = `kinora-${newId()}`;
  const head = (name: string, more = ''): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n`;
  const body = Buffer.concat([
    ...fields.map(([name, value]) => Buffer.from(`${head(name)}\r\n${value}\r\n`)),
    Buffer.from(`${head('file', `; filename="${file.name}"`)}Content-Type: ${file.type}\r\n\r\n`),
    file.bytes,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  const client = new HttpClient({
    peer: 'service',
    limits: { stallMs: bodyStallMs },
    messages: { stallMs: 'The answer stalled' },
  });
  const response = await client.send({
    method: 'POST',
    url: new URL(url),
    body,
    signal,
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      accept: 'application/json',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
  });
  const text = await response.bytes(post.maxResponseBytes, () => new Error(`More than ${post.maxResponseBytes} bytes`));
  const retryAfter = Number(response.header('retry-after'));
  return {
    status: response.status,
    body: text.toString('utf8'),
    ...(retryAfter > 0 && { retryAfterMs: retryAfter * 1000 }),
  };
};

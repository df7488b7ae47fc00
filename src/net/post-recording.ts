import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { newId } from '../lib/ids.js';

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
export const postRecording = (post: RecordingPost): Promise<RecordingResponse> =>
  new Promise((resolve, reject) => {
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
    const request = (url.startsWith('https:') ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      signal,
      agent: false,
      headers: {
        'content-type': `multipart/form-data; boundary=${boundary}`,
        'content-length': body.length,
        accept: 'application/json',
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
    });
    request.on('error', reject);
    // The connection no longer speaks HTTP: without a listener, the request would never settle.
    request.once('upgrade', (_, socket) => {
      socket.destroy();
      reject(new Error('The service switched protocols'));
    });
    request.once('response', (response) => {
      request.setTimeout(bodyStallMs, () => request.destroy(new Error('The answer stalled')));
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('error', reject);
      response.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > post.maxResponseBytes) request.destroy(new Error(`More than ${post.maxResponseBytes} bytes`));
        else chunks.push(chunk);
      });
      response.once('end', () => {
        const retryAfter = Number(response.headers['retry-after']);
        resolve({
          status: response.statusCode!,
          body: Buffer.concat(chunks).toString('utf8'),
          ...(retryAfter > 0 && { retryAfterMs: retryAfter * 1000 }),
        });
      });
    });
    request.end(body);
  });

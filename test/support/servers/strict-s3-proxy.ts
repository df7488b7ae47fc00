import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { startOrigin } from './origin.js';

export interface S3Faults {
  /** Every request fails once, as under load. */
  slowDown?: boolean;
  /** The body of every answer to a GET ends early once. */
  cutBodies?: boolean;
  /** The first answer to an uploaded part has the ETag of something else. */
  wrongEtag?: boolean;
  latencyMs?: number;
}

export interface StrictS3Proxy {
  readonly url: string;
  faults: S3Faults;
  /** While true, every connection breaks. */
  isAway: boolean;
  /** Requests whose method and path match are refused. */
  refuses: RegExp | undefined;
  /** Requests whose method and path match get no answer. */
  stalls: RegExp | undefined;
  /** How many of them have come. */
  readonly stalled: number;
  /** That many GET requests get no answer. */
  stallNext: number;
  /** The bodies of that many answers stop in their middle, on a connection that stays open. */
  stallBodies: number;
  /** Of those that get no answer: how many the client has given up. */
  readonly abandoned: number;
  /** What happened, by kind of fault. */
  readonly injected: Record<keyof S3Faults, number>;
  /**
   * Violations of the rules that some stores have: no part may be shorter than 5 MiB or differ in
   * size, and no request may wait for `100 Continue`.
   */
  readonly violations: string[];
  /** Of every kind. */
  readonly requests: number;
  /** GET requests of objects, and the bytes of their answers. */
  readonly gets: { requests: number; bytes: number };
  /** The bytes of the answers to GET requests of objects whose keys contain `part`. */
  bytesOf(part: string): number;
  /** The size of each of these answers, in their order. */
  sizesOf(part: string): number[];
  stop(): Promise<void>;
}

const MIN_PART_BYTES = 5 * 2 ** 20;

const errorBody = (code: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`;

/**
 * Stands in front of an S3 server: has the rules of the stricter ones, and the faults of the worse
 * ones.
 */
export const startStrictS3Proxy = async (target: string): Promise<StrictS3Proxy> => {
  const injected = { slowDown: 0, cutBodies: 0, wrongEtag: 0, latencyMs: 0 };
  const gets = { requests: 0, bytes: 0 };
  const responses: { path: string; bytes: number }[] = [];
  let abandoned = 0;
  let stalled = 0;
  let requests = 0;
  const violations: string[] = [];
  const seen = new Set<string>();
  /** Whether this fault is due: once for each request. */
  const isDue = (fault: keyof S3Faults, request: IncomingMessage): boolean => {
    if (!proxy.faults[fault]) return false;
    // A second try of a whole upload has another ID.
    const address = request.url!.replace(/uploadId=[^&]*/, '');
    const key = `${fault} ${request.method} ${address} ${request.headers.range ?? ''}`;
    if (seen.has(key)) return false;
    seen.add(key);
    injected[fault] += 1;
    return true;
  };
  /** Sizes of parts by upload and number. */
  const uploads = new Map<string, Map<number, number>>();

  const refuse = (response: ServerResponse, status: number, code: string): void => {
    response.writeHead(status, { 'content-type': 'application/xml' }).end(errorBody(code));
  };
  /**
   * The code of the error with which a strict store refuses to complete an upload; only the parts
   * it names count.
   */
  const findViolation = (parts: ReadonlyMap<number, number>, complete: Buffer): string | undefined => {
    const numbers = [...complete.toString().matchAll(/<PartNumber>(\d+)</g)].map(([, number]) => Number(number));
    const sizes = numbers.map((number) => parts.get(number) ?? 0);
    const last = sizes.pop() ?? 0;
    if (sizes.some((size) => size < MIN_PART_BYTES)) return 'EntityTooSmall';
    return sizes.some((size) => size !== sizes[0]) || last > (sizes[0] ?? last) ? 'InvalidPart' : undefined;
  };

  const forward = async (request: IncomingMessage, response: ServerResponse, sent: Buffer): Promise<void> => {
    const url = new URL(request.url!, target);
    const isGet = request.method === 'GET' && !url.searchParams.has('list-type');
    const upstream = await new Promise<IncomingMessage>((resolve, reject) => {
      // With the host that the client has signed.
      const options = { method: request.method!, headers: request.headers };
      httpRequest(url, options, resolve).on('error', reject).end(sent);
    });
    const bytes = await buffer(upstream);
    const headers = { ...upstream.headers };
    if (request.method === 'PUT' && url.searchParams.has('partNumber') && isDue('wrongEtag', request))
      headers.etag = `"${'0'.repeat(32)}"`;
    response.writeHead(upstream.statusCode!, headers);
    if (isGet && upstream.statusCode! < 300 && url.pathname.split('/').length > 2) {
      gets.requests += 1;
      gets.bytes += bytes.length;
      responses.push({ path: url.pathname, bytes: bytes.length });
      if (bytes.length > 1 && proxy.stallBodies > 0) {
        proxy.stallBodies -= 1;
        response.write(bytes.subarray(0, bytes.length >> 1));
        return;
      }
      if (bytes.length > 1 && isDue('cutBodies', request)) {
        response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
        return;
      }
    }
    response.end(bytes);
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const sent = await buffer(request);
    const url = new URL(request.url!, target);
    if (proxy.stalls?.test(`${request.method} ${request.url}`)) {
      stalled += 1;
      return;
    }
    if (request.method === 'GET' && proxy.stallNext > 0) {
      proxy.stallNext -= 1;
      response.once('close', () => (abandoned += 1));
      return;
    }
    if (proxy.faults.latencyMs) await pause(proxy.faults.latencyMs);
    if (isDue('slowDown', request)) return refuse(response, 503, 'SlowDown');
    const uploadId = url.searchParams.get('uploadId');
    const partNumber = url.searchParams.get('partNumber');
    if (uploadId && partNumber) {
      const parts = uploads.get(uploadId) ?? new Map<number, number>();
      uploads.set(uploadId, parts.set(Number(partNumber), sent.length));
    } else if (uploadId && request.method === 'POST') {
      const violation = findViolation(uploads.get(uploadId) ?? new Map(), sent);
      if (violation) {
        violations.push(`${violation} ${request.url}`);
        return refuse(response, 400, violation);
      }
    }
    await forward(request, response, sent);
  };

  const sizesOf = (part: string): number[] =>
    responses.flatMap(({ path, bytes }) => (path.includes(part) ? [bytes] : []));
  const origin = await startOrigin((request, response) => {
    requests += 1;
    if (request.headers.expect !== undefined) violations.push(`Expect ${request.url}`);
    if (proxy.isAway) return void response.destroy();
    if (proxy.refuses?.test(`${request.method} ${request.url}`)) {
      request.resume();
      return refuse(response, 403, 'AccessDenied');
    }
    handle(request, response).catch(() => response.destroy());
  });
  const proxy: StrictS3Proxy = {
    url: origin.url,
    faults: {},
    isAway: false,
    refuses: undefined,
    stalls: undefined,
    get stalled() {
      return stalled;
    },
    stallNext: 0,
    stallBodies: 0,
    get requests() {
      return requests;
    },
    get abandoned() {
      return abandoned;
    },
    injected,
    violations,
    gets,
    bytesOf: (part) => sizesOf(part).reduce((sum, bytes) => sum + bytes, 0),
    sizesOf,
    stop: origin.stop,
  };
  return proxy;
};

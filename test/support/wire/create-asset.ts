import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type Origin, startOrigin } from '../servers/origin.js';
import { until } from '../servers/server-process.js';

/** What a test looks at of an asset on the wire. */
export interface WireAsset {
  id: string;
  status: string;
  progress: { state: string; progress: number };
  playback_ids?: { id: string; policy: string; drm_configuration_id?: string }[];
  duration?: number;
  aspect_ratio?: string;
  errors?: { type: string; messages: string[] };
  non_standard_input_reasons?: Record<string, string>;
  tracks?: Record<string, unknown>[];
  [field: string]: unknown;
}

interface Server {
  readonly url: string;
  readonly token: { readonly id: string; readonly secret: string };
}

export const api = async (server: Server, method: string, path: string, body?: unknown): Promise<Response> =>
  fetch(`${server.url}${path}`, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(`${server.token.id}:${server.token.secret}`).toString('base64')}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

/** Serves the files of `paths` under `/0`, `/1` … with ranges. */
export const serveFiles = async (paths: readonly string[]): Promise<Origin> =>
  startOrigin(async (request, response) => {
    const path = paths[Number(request.url?.slice(1).split(/[.?]/)[0])];
    if (path === undefined) {
      response.writeHead(404).end();
      return;
    }
    const { size } = await stat(path);
    const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
    response.writeHead(start > 0 ? 206 : 200, {
      'content-length': size - start,
      etag: '"v1"',
      ...(start > 0 && { 'content-range': `bytes ${start}-${size - 1}/${size}` }),
    });
    createReadStream(path, { start }).pipe(response);
  });

export const createAsset = async (server: Server, body: object): Promise<WireAsset> => {
  const response = await api(server, 'POST', '/video/v1/assets', body);
  const text = await response.text();
  if (response.status !== 201) throw new Error(`${response.status} ${text}`);
  return (JSON.parse(text) as { data: WireAsset }).data;
};

/** What `input-info` shows about playback before the file was stored. */
export const earlyPlaybackOf = async (server: Server, id: string): Promise<unknown> => {
  const response = await api(server, 'GET', `/video/v1/assets/${id}/input-info`);
  return ((await response.json()) as { data: { early_playback?: unknown }[] }).data[0]!.early_playback;
};

export const getAsset = async (server: Server, id: string): Promise<WireAsset> =>
  ((await (await api(server, 'GET', `/video/v1/assets/${id}`)).json()) as { data: WireAsset }).data;

/** The asset once it is `ready` or `errored`. */
export const settled = async (server: Server, id: string, limitMs = 240_000): Promise<WireAsset> => {
  let asset!: WireAsset;
  const isSettled = async () => {
    asset = await getAsset(server, id);
    return asset.status !== 'preparing';
  };
  // A request and its query take milliseconds of CPU time, and an ingest takes a second.
  await until(`asset ${id} is settled`, isSettled, limitMs, 100);
  return asset;
};

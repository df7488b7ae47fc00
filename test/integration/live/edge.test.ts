import { createServer, request as requestOrigin, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { counterOf, readRgbFrames } from '../../support/media/measure.js';
import { parseLivePlaylist } from '../../support/players/live-playlist.js';
import { fetchBytes } from '../../support/players/play.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { isContinuous, LiveStation } from '../../support/servers/live-station.js';
import { cleanUpServers, until } from '../../support/servers/server-process.js';
import { api } from '../../support/wire/create-asset.js';

const EDGE_SECRET = 'a-secret-that-both-of-them-know';

let station: LiveStation;
let proxy: Server;
let edge: Booted;
/** What the edge has asked its origin for. */
const asked: string[] = [];

beforeAll(async () => {
  station = await LiveStation.open({ options: { EDGE_SECRET } });
  proxy = createServer((request, response) => {
    asked.push(request.url!);
    const { method, headers, url } = request;
    const passed = requestOrigin(new URL(url!, station.server.url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const originUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  edge = await boot({ options: { ROLES: 'edge', EDGE_SECRET, EDGE_ORIGIN: originUrl } });
});
afterAll(async () => {
  station?.close();
  await edge?.stop();
  proxy?.closeAllConnections();
  proxy?.close();
  await cleanUpServers();
});

const VIEWERS = 5;

it('plays what is on air; however many viewers there are, each part is one request at the origin', async () => {
  const stream = await station.create();
  const { id } = stream.playback_ids[0]!;
  station.publish(stream, { loops: true });
  const assetId = await station.untilActive(stream);
  const url = `${edge.url}/${id}/live/270p/playlist.m3u8`;
  const listed = async () => parseLivePlaylist(await (await fetch(url)).text()).segments;
  const segments = await listed();
  const askedFor = (uri: string): number => asked.filter((path) => path.endsWith(`/${uri}`)).length;

  const awaited = `${url}?_HLS_msn=${segments.at(-1)!.number + 2}&_HLS_part=0`;
  const answers = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const response = await fetch(awaited);
      return [response.status, await response.text()] as const;
    }),
  );
  expect(answers).toEqual(answers.map(() => [200, answers[0]![1]]));
  expect(asked.filter((path) => awaited.endsWith(path))).toHaveLength(1);

  const parts = segments.flatMap((segment) => segment.parts);
  const uris = [segments[0]!.map!, ...parts.map(({ uri }) => uri)];
  const read = async (base: string): Promise<Buffer[]> =>
    Promise.all(uris.map((uri) => fetchBytes(new URL(uri, base).href)));
  const readings = await Promise.all(Array.from({ length: VIEWERS }, () => read(url)));
  expect(uris.map(askedFor)).toEqual(uris.map(() => 1));
  const bytes = await read(station.playlistUrl(id));
  expect(readings).toEqual(readings.map(() => bytes));
  const counters = readRgbFrames(bytes).flatMap((frame) => counterOf(frame) ?? []);
  expect(counters.length).toBeGreaterThan(20);
  expect(isContinuous(counters)).toBe(true);

  // A part that does not exist yet.
  const { hint } = parseLivePlaylist(await (await fetch(url)).text());
  const hinted = await Promise.all(Array.from({ length: VIEWERS }, () => fetchBytes(new URL(hint!, url).href)));
  expect(hinted).toEqual(hinted.map(() => hinted[0]));
  expect(askedFor(hint!)).toBe(1);
  const after = parseLivePlaylist(await (await fetch(station.playlistUrl(id))).text());
  const hintedPart = after.segments.flatMap((segment) => segment.parts).find(({ uri }) => uri === hint)!;
  const missing = new URL('1000000.0.m4s', url).href;
  expect((await fetch(missing)).status).toBe(404);
  expect((await fetch(`${edge.url}/${id}/thumbnail.jpg?latest=true`)).status).toBe(200);

  // The edge reports what it has sent; the direct viewer is counted at the origin.
  await edge.stop();
  const sum = parts.reduce((total, { seconds }) => total + seconds, 0);
  const sentSeconds = sum * (VIEWERS + 1) + hintedPart.seconds * VIEWERS;
  const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;
  const delivered = async (): Promise<number> => {
    const timeframe = `timeframe[]=${inSeconds(-3600)}&timeframe[]=${inSeconds(60)}`;
    const response = await api(station.server, 'GET', `/video/v1/delivery-usage?asset_id=${assetId}&${timeframe}`);
    const { data } = (await response.json()) as { data: { delivered_seconds: number }[] };
    return data[0]?.delivered_seconds ?? 0;
  };
  await until('everything is counted', async () => (await delivered()) > sentSeconds - 0.1);
  expect(await delivered()).toBeCloseTo(sentSeconds, 1);
});

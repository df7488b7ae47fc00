import { createServer, request as requestOrigin, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { counterOf, readRgbFrames } from '../../support/media/measure.js';
import { parseLivePlaylist } from '../../support/players/live-playlist.js';
import { fetchBytes } from '../../support/players/play.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { isContinuous, LiveStation } from '../../support/servers/live-station.js';
import { cleanUpServers } from '../../support/servers/server-process.js';

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

it('plays what is on air; viewers who wait for the same part are one request at the origin', async () => {
  const stream = await station.create();
  const { id } = stream.playback_ids[0]!;
  station.publish(stream, { loops: true });
  await station.untilActive(stream);
  const url = `${edge.url}/${id}/live/270p/playlist.m3u8`;
  const listed = async () => parseLivePlaylist(await (await fetch(url)).text()).segments;
  const segments = await listed();

  const awaited = `${url}?_HLS_msn=${segments.at(-1)!.number + 2}&_HLS_part=0`;
  const answers = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const response = await fetch(awaited);
      return [response.status, await response.text()] as const;
    }),
  );
  expect(answers).toEqual(answers.map(() => [200, answers[0]![1]]));
  expect(asked.filter((path) => awaited.endsWith(path))).toHaveLength(1);

  const uris = segments.flatMap(({ parts }) => parts.map(({ uri }) => uri));
  const read = async (base: string): Promise<Buffer[]> =>
    Promise.all([segments[0]!.map!, ...uris].map((uri) => fetchBytes(new URL(uri, base).href)));
  const bytes = await read(url);
  expect(bytes).toEqual(await read(station.playlistUrl(id)));
  const counters = readRgbFrames(bytes).flatMap((frame) => counterOf(frame) ?? []);
  expect(counters.length).toBeGreaterThan(20);
  expect(isContinuous(counters)).toBe(true);
  // The origin counts each delivery.
  await fetchBytes(new URL(uris[0]!, url).href);
  expect(asked.filter((path) => path.endsWith(`/${uris[0]}`))).toHaveLength(2);
  expect((await fetch(`${edge.url}/${id}/thumbnail.jpg?latest=true`)).status).toBe(200);
});

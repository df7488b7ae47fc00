import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseLivePlaylist } from '../../support/players/live-playlist.js';
import { LiveRules } from '../../support/players/live-rules.js';
import { type Publisher, publishForever } from '../../support/processes/publisher.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { freePort } from '../../support/servers/free-port.js';
import { type Nginx, nginxPath, startNginx } from '../../support/servers/nginx.js';
import { until } from '../../support/servers/server-process.js';
import { api } from '../../support/wire/create-asset.js';

let server: Booted;
let nginx: Nginx;
let publisher: Publisher;
/** The server as viewers see it. */
let front: string;
let playlist: string;

beforeAll(async () => {
  if (!nginxPath) return;
  const [port, ownPort, rtmpPort] = [await freePort(), await freePort(), await freePort()];
  front = `http://127.0.0.1:${port}`;
  server = await boot({
    options: {
      PORT: String(ownPort),
      PUBLIC_URL: front,
      TRUSTED_PROXIES: '127.0.0.1/32',
      RTMP_PORT: String(rtmpPort),
      LIVE_RUNGS: '0',
    },
  });
  nginx = await startNginx(port, `http://127.0.0.1:${ownPort}`);
  const viewed = { url: front, token: server.token };
  const body = { playback_policies: ['public'], latency_mode: 'low', reconnect_window: 600 };
  const { data } = await (await api(viewed, 'POST', '/video/v1/live-streams', body)).json();
  publisher = await publishForever(`rtmp://127.0.0.1:${rtmpPort}/app/${data.stream_key}`);
  const multivariant = `${front}/${data.playback_ids[0].id}.m3u8`;
  await until('it is on air', async () => (await fetch(multivariant)).status === 200);
  const [rendition] = (await (await fetch(multivariant)).text()).match(/^[^#\n].*$/m)!;
  playlist = new URL(rendition!, multivariant).href;
});
afterAll(async () => {
  publisher?.process.kill('SIGKILL');
  await nginx?.stop();
  await server?.stop();
});

const cacheOf = (response: Response): string | null => response.headers.get('x-cache-status');

/** The address of the playlist as soon as it has the part after the last one, and where it is. */
const nextPart = async () => {
  const { segments } = parseLivePlaylist(await (await fetch(playlist)).text());
  const last = segments.at(-1)!;
  const [segment, part] = last.uri === undefined ? [last.number, last.parts.length] : [last.number + 1, 0];
  const url = new URL(playlist);
  url.searchParams.set('_HLS_msn', String(segment));
  url.searchParams.set('_HLS_part', String(part));
  return { url, segment, part };
};

/** What viewers get who wait for a part together; again if it was not recorded in time. */
const waitTogether = async () => {
  for (;;) {
    const next = await nextPart();
    const responses = await Promise.all([1, 2, 3].map(() => fetch(next.url)));
    if (responses.every(({ status }) => status !== 503)) return { ...next, responses };
  }
};

describe.skipIf(nginxPath === undefined)('what is on air, behind nginx with the shipped configuration', () => {
  it('viewers who wait for a part get it from the server, and those who come later from the cache', async () => {
    const rules = new LiveRules();
    for (let reload = 0; reload < 4; reload++) {
      const { url, segment, part, responses: waiting } = await waitTogether();
      // nginx makes nobody wait for its lock.
      expect(waiting.map((response) => [response.status, cacheOf(response)])).toEqual(Array(3).fill([200, 'MISS']));
      const [text] = await Promise.all(waiting.map((response) => response.text()));
      expect(rules.check(text!)).toEqual([]);
      const listed = parseLivePlaylist(text!).segments.find(({ number }) => number === segment)!;
      expect(listed.parts.length).toBeGreaterThan(part);
      const late = await fetch(url);
      expect([late.status, cacheOf(late)]).toEqual([200, 'HIT']);
      expect(await late.text()).toBe(text);

      const partUrl = new URL(listed.parts[part]!.uri, playlist);
      const [first, second] = [await fetch(partUrl), await fetch(partUrl)];
      expect([first, second].map(cacheOf)).toEqual(['MISS', 'HIT']);
      expect(Buffer.from(await second.arrayBuffer())).toEqual(Buffer.from(await first.arrayBuffer()));
    }
  });

  it('keeps no playlist that says nothing of a part, and no refusal', async () => {
    for (const _ of [1, 2]) {
      const now = await fetch(playlist);
      expect([now.status, cacheOf(now)]).toEqual([200, 'MISS']);
      await now.text();
    }
    const ahead = new URL(playlist);
    ahead.searchParams.set('_HLS_msn', '999999');
    for (const _ of [1, 2]) {
      const refused = await fetch(ahead);
      expect([refused.status, cacheOf(refused)]).toEqual([400, 'MISS']);
    }
  });

  it('says where encoders send, by the name of the public URL', async () => {
    const { data } = await (
      await api({ url: front, token: server.token }, 'GET', '/console/api/live-streams?status=active')
    ).json();
    const path = `/console/api/live-streams/${data[0].id}`;
    const details = (await (await api({ url: front, token: server.token }, 'GET', path)).json()).data;
    expect(details.ingest_urls).toEqual([expect.stringMatching(/^rtmp:\/\/127\.0\.0\.1:\d+\/app$/)]);
  });
});

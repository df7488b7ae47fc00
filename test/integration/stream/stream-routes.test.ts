import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { newId } from '#kinora/lib/ids.js';
import { GENERATION } from '#kinora/media/plan/generation.js';
import { fixture } from '../../support/media/fixtures.js';
import { type PlannedSource, planFile } from '../../support/media/video-run.js';
import { type PreparedAsset, startPlayback } from '../../support/players/playback.js';
import { expectError, NOT_FOUND } from '../../support/wire/expect-error.js';

let server: Awaited<ReturnType<typeof startPlayback>>;
let source: PlannedSource;
let asset: PreparedAsset;
let preparing: PreparedAsset;

beforeAll(async () => {
  server = await startPlayback();
  source = await planFile(await fixture('h264-aac.mp4'));
  asset = await server.addAsset(source, 'Harbour "walk" <1>');
  preparing = await server.addAsset({ status: 'preparing' });
});
afterAll(() => server?.stop());

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${server.origin}${path}`, { method, headers });
const textOf = async (path: string) => (await get(path)).text();
const top = () => source.video.renditions.at(-1)!.name;
const segmentPath = (file: string, rendition = top()) => `/${asset.publicId}/${GENERATION}/${rendition}/${file}`;
const refusal = async (response: Promise<Response>) => {
  const settled = await response;
  expect(settled.headers.get('access-control-allow-origin')).toBe('*');
  expect(settled.headers.get('content-type')).toContain('application/json');
  return [settled.status, await settled.json()];
};
const token = (header: object, payload: object = {}) =>
  `${[header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.c2ln`;

test('both addresses give the same multivariant playlist, whose children exist', async () => {
  const bare = await get(`/${asset.publicId}`);
  expect(bare.headers.get('content-type')).toBe('application/vnd.apple.mpegurl');
  expect(bare.headers.get('cache-control')).toBe('no-cache');
  expect(bare.headers.get('vary')).toBe('Accept');
  const playlist = await bare.text();
  expect(await textOf(`/${asset.publicId}.m3u8`)).toBe(playlist);
  expect(playlist).toContain('DATA-ID="com.apple.hls.title",VALUE="Harbour \'walk\' <1>"');
  const children = [...playlist.matchAll(/^(?!#)(\S+)$|(?<!chapters",)URI="([^"]+)"/gm)].map(
    ([, line, uri]) => line ?? uri!,
  );
  expect(children.length).toBe(source.video.renditions.length + 1);
  for (const child of children) {
    const url = new URL(child, `${server.origin}/${asset.publicId}`);
    const media = await fetch(url);
    expect(media.headers.get('content-type')).toBe('application/vnd.apple.mpegurl');
    expect(await media.text()).toMatch(/#EXT-X-MAP:URI="init.mp4"[\s\S]*#EXT-X-ENDLIST/);
  }
});

test('relative addresses hold with a trailing slash as well', async () => {
  const playlist = await textOf(`/${asset.publicId}/`);
  const child = /^[^#].*$/m.exec(playlist)![0];
  expect(new URL(child, `${server.origin}/${asset.publicId}/`).pathname).toBe(
    new URL(/^[^#].*$/m.exec(await textOf(`/${asset.publicId}`))![0], `${server.origin}/${asset.publicId}`).pathname,
  );
});

test('an unchanged playlist is not sent again', async () => {
  const first = await get(`/${asset.publicId}.m3u8`);
  const etag = first.headers.get('etag')!;
  const again = await get(`/${asset.publicId}.m3u8`, { 'if-none-match': etag });
  expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
});

test('a playlist is the same whole, in part, as a header and for another method that reads', async () => {
  const path = `/${asset.publicId}.m3u8`;
  const whole = Buffer.from(await (await get(path)).arrayBuffer());
  const part = await get(path, { range: 'bytes=5-19' });
  expect([part.status, await part.text()]).toEqual([206, whole.subarray(5, 20).toString()]);
  expect(part.headers.get('content-range')).toBe(`bytes 5-19/${whole.length}`);
  const header = await get(path, {}, 'HEAD');
  expect([header.status, header.headers.get('content-length')]).toEqual([200, String(whole.length)]);
  expect(header.headers.get('etag')).toBe((await get(path)).headers.get('etag'));
  expect((await get(path, {}, 'OPTIONS')).status).toBe(204);
  expect((await get(path, {}, 'DELETE')).status).toBe(405);
});

test('modifiers shape the playlist; bad ones are named', async () => {
  const renditions = source.video.renditions.map(({ name }) => name);
  const listed = async (query: string) => {
    const playlist = await textOf(`/${asset.publicId}.m3u8?${query}`);
    return [...playlist.matchAll(/^[^#\s]\S*\/\d+\/(\w+)\/playlist\.m3u8(\S*)$/gm)].map(
      ([, name, rest]) => `${name}${rest}`,
    );
  };
  expect(await listed('rendition_order=desc&CMCD=bs')).toEqual([...renditions].reverse());
  expect(await listed('max_resolution=270p')).toEqual(renditions.slice(0, 1));
  expect(await listed('max_resolution=2160p&max_resolution=270p')).toEqual(renditions.slice(0, 1));
  expect((await listed('redundant_streams=true')).filter((name) => name.endsWith('?redundant=1'))).toHaveLength(
    renditions.length,
  );
  expect(await refusal(get(`/${asset.publicId}.m3u8?max_resolution=711p`))).toEqual([
    400,
    { code: 3, message: 'Invalid parameter: max_resolution' },
  ]);
});

test('an instant clip is carried into the child playlists', async () => {
  const playlist = await textOf(`/${asset.publicId}.m3u8?asset_start_time=4.5`);
  const child = new URL(/^[^#].*$/m.exec(playlist)![0], `${server.origin}/`);
  const media = await (await fetch(child)).text();
  const whole = await textOf(segmentPath('playlist.m3u8'));
  expect(media.match(/\.m4s/g)!.length).toBeLessThan(whole.match(/\.m4s/g)!.length);
  expect(media).toContain(`\n${source.video.boundaries.length - 2}.m4s`);
  expect(await refusal(get(`${segmentPath('playlist.m3u8')}?segments=x`))).toEqual([
    400,
    { code: 3, message: 'Invalid parameter: segments' },
  ]);
});

test('every segment of every rendition is made, verified and served', async () => {
  const { plan, video } = source;
  for (const { name } of video.renditions) {
    for (const file of ['init.mp4', ...video.boundaries.slice(1).map((_, number) => `${number}.m4s`)]) {
      const response = await get(segmentPath(file, name));
      expect([response.status, response.headers.get('content-type')], file).toEqual([200, 'video/mp4']);
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect((await response.arrayBuffer()).byteLength).toBe(Number(response.headers.get('content-length')));
    }
  }
  for (const file of ['init.mp4', ...plan.audio!.boundaries.slice(1).map((_, number) => `${number}.m4s`)]) {
    const response = await get(segmentPath(file, 'audio'));
    expect([response.status, response.headers.get('content-type')], file).toEqual([200, 'audio/mp4']);
    await response.arrayBuffer();
  }
});

test('BANDWIDTH is no less than what the segments need', async () => {
  const playlist = await textOf(`/${asset.publicId}.m3u8`);
  const { video, plan } = source;
  const sizeOf = async (path: string) => Number((await get(path, {}, 'HEAD')).headers.get('content-length'));
  for (const { name } of video.renditions) {
    const declared = Number(new RegExp(`BANDWIDTH=(\\d+).*\\n\\S*/${name}/playlist`).exec(playlist)![1]);
    for (let number = 0; number + 1 < video.boundaries.length; number++) {
      const seconds = (video.boundaries[number + 1]! - video.boundaries[number]!) / video.timescale;
      const audioFrames = plan.audio!.boundaries[number + 1]! - plan.audio!.boundaries[number]!;
      const audioSeconds = (audioFrames * 1024) / plan.audio!.sampleRate;
      const bits = [
        ((await sizeOf(segmentPath(`${number}.m4s`, name))) * 8) / seconds,
        ((await sizeOf(segmentPath(`${number}.m4s`, 'audio'))) * 8) / audioSeconds,
      ];
      expect(bits[0]! + bits[1]!, `${name} ${number}`).toBeLessThanOrEqual(declared);
    }
  }
});

test('many viewers of one cold segment wait for one production', async () => {
  const other = await server.addAsset(source);
  const path = `/${other.publicId}/${GENERATION}/${source.video.renditions[0]!.name}/1.m4s`;
  const responses = await Promise.all(Array.from({ length: 12 }, () => get(path)));
  const bodies = await Promise.all(responses.map(async (response) => Buffer.from(await response.arrayBuffer())));
  expect(bodies.every((body) => body.equals(bodies[0]!))).toBe(true);
  expect(new Set(responses.map(({ headers }) => headers.get('etag'))).size).toBe(1);
});

test('ranges, HEAD and validators of a segment', async () => {
  const path = segmentPath('0.m4s');
  const whole = await get(path);
  const bytes = Buffer.from(await whole.arrayBuffer());
  const etag = whole.headers.get('etag')!;
  expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
  expect(whole.headers.get('access-control-expose-headers')).toBe('Content-Length, Content-Range, Accept-Ranges');
  expect(whole.headers.get('accept-ranges')).toBe('bytes');

  const part = await get(path, { range: 'bytes=10-19' });
  expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 10-19/${bytes.length}`]);
  expect(Buffer.from(await part.arrayBuffer())).toEqual(bytes.subarray(10, 20));
  expect((await get(path, { range: 'bytes=10-19', 'if-range': etag })).status).toBe(206);
  expect((await get(path, { range: 'bytes=10-19', 'if-range': '"other"' })).status).toBe(200);
  expect((await get(path, { 'if-none-match': etag })).status).toBe(304);

  const beyond = await get(path, { range: `bytes=${bytes.length}-` });
  expect([beyond.headers.get('content-range'), beyond.headers.get('cache-control')]).toEqual([
    `bytes */${bytes.length}`,
    'no-cache',
  ]);
  expect(await refusal(Promise.resolve(beyond))).toEqual([416, { code: 11, message: 'Range Not Satisfiable' }]);

  const head = await get(path, {}, 'HEAD');
  expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, `${bytes.length}`, '']);
  const headOfPlaylist = await get(`/${asset.publicId}.m3u8`, {}, 'HEAD');
  expect([headOfPlaylist.status, await headOfPlaylist.text()]).toEqual([200, '']);
  expect(headOfPlaylist.headers.get('content-length')).toBe(`${(await textOf(`/${asset.publicId}.m3u8`)).length}`);
});

test('unknown, unready and missing things', async () => {
  const notFound = [404, { code: 5, message: 'Not Found' }];
  const notReady = [412, { code: 9, message: 'Asset is not ready' }];
  for (const id of [newId(), 'short']) {
    for (const path of ['', '.m3u8', '/metadata.json', `/${GENERATION}/360p/0.m4s`, '/720p.mp4']) {
      expect(await refusal(get(`/${id}${path}`)), path).toEqual(notFound);
    }
  }
  const errored = await server.addAsset({ status: 'errored' });
  for (const { publicId } of [preparing, errored]) {
    for (const path of ['', '.m3u8', '/metadata.json', `/${GENERATION}/360p/0.m4s`, '/720p.mp4', '/text/x.vtt']) {
      expect(await refusal(get(`/${publicId}${path}`)), path).toEqual(notReady);
    }
  }
  const missing = ['4320p/0.m4s', 'audio/99.m4s', 'audio/00.m4s', 'audio/playlist', '4320p/playlist.m3u8'];
  const absent = ['720p.mp4', 'audio.m4a', 'text/abc.vtt', `${GENERATION - 1}/audio/0.m4s`];
  for (const path of [...absent, ...missing.map((file) => `${GENERATION}/${file}`)]) {
    expect(await refusal(get(`/${asset.publicId}/${path}`)), path).toEqual(notFound);
  }
});

test('signed ids: the token is judged before the state', async () => {
  const denied = (message: string) => [403, { code: 7, message }];
  for (const { signedId } of [asset, preparing]) {
    const responseTo = (query: string) => refusal(get(`/${signedId}.m3u8${query}`));
    expect(await responseTo('')).toEqual(denied('Token is missing'));
    expect(await responseTo('?token=')).toEqual(denied('Token is missing'));
    expect(await responseTo('?token=abc')).toEqual(denied('Token is malformed'));
    expect(await responseTo('?token=a.b.c')).toEqual(denied('Token is malformed'));
    expect(await responseTo(`?token=${token({ alg: 'HS256' })}`)).toEqual(denied('Token algorithm is not supported'));
    expect(await responseTo(`?token=${token({ alg: 'none' }).replace(/c2ln$/, '')}`)).toEqual(
      denied('Token algorithm is not supported'),
    );
    expect(await responseTo(`?token=${token({ alg: 'RS256' })}`)).toEqual(denied('Token key is unknown'));
  }
  expect(await refusal(get(`/${asset.signedId}/${GENERATION}/${top()}/0.m4s`))).toEqual(denied('Token is missing'));
  expect((await get(`/${asset.publicId}.m3u8?token=abc`)).status).toBe(200);
});

test('OPTIONS and other methods', async () => {
  const preflight = await get(segmentPath('0.m4s'), { origin: 'https://a.example' }, 'OPTIONS');
  expect([preflight.status, await preflight.text()]).toEqual([204, '']);
  expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
  expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, HEAD, OPTIONS');
  const posted = await get(`/${asset.publicId}`, {}, 'POST');
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  expect(await posted.json()).toEqual({ code: 12, message: 'Method not allowed' });
});

test.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
  '%s is the answer of the API where no playback id can be',
  async (method) => {
    for (const path of ['/_unknown_path', '/_unknown_path.m3u8', '/a/b', '/a/1/270p/0.m4s', '/a/thumbnail.jpg']) {
      const response = await get(path, {}, method);
      await expectError(response, 404, 'not_found', [NOT_FOUND]);
      expect(response.headers.get('access-control-allow-origin')).toBeNull();
    }
    for (const path of [
      `/${newId()}`,
      `/${asset.publicId}.m3u8`,
      `/${asset.publicId}/thumbnail.jpg`,
      segmentPath('0.m4s'),
    ])
      expect((await get(path, {}, method)).status, path).toBe(405);
    for (const path of ['/_unknown_path', '/a/b'])
      expect(await (await get(path)).json()).toEqual({ code: 5, message: 'Not Found' });
  },
);

test('no name that every object has and no NUL is a failure of the server', async () => {
  const { publicId, signedId } = asset;
  const names = Object.getOwnPropertyNames(Object.prototype);
  const paths = names.flatMap((name) => [
    `/${name}`,
    `/${publicId}/${name}`,
    `/${publicId}/thumbnail.${name}`,
    `/${publicId}/text/${name}.vtt`,
    `/${publicId}/${name}/270p/playlist.m3u8`,
    `/${publicId}/${GENERATION}/${name}/playlist.m3u8`,
    `/${publicId}/${GENERATION}/270p/${name}`,
  ]);
  for (const path of paths) expect((await get(path)).status, path).toBe(404);
  const parameters = ['max_resolution', 'rendition_order', 'asset_start_time', 'default_subtitles_lang'];
  const ofImages = ['time', 'width', 'fit_mode', 'rotate', 'flip_h', 'fps', 'format', 'start'];
  const others = ['token', 'signature', 'segments', 'redundant', 'download', 'expires', 'sig', '%00'];
  const query = (value: string) => [...parameters, ...ofImages, ...others].map((name) => `${name}=${value}&`).join('');
  const files = [
    '.m3u8',
    '',
    '/metadata.json',
    `/${GENERATION}/270p/playlist.m3u8`,
    `/${GENERATION}/270p/0.m4s`,
    '/highest.mp4',
  ];
  const images = [
    '/thumbnail.jpg',
    '/animated.gif',
    '/storyboard.jpg',
    '/storyboard.vtt',
    `/${GENERATION}/images/playlist.m3u8`,
  ];
  for (const id of [publicId, signedId])
    for (const rest of [...files, ...images])
      for (const value of ['%00', 'a%00b', ...names])
        expect((await get(`/${id}${rest}?${query(value)}`)).status, `${rest} ${value}`).toBeLessThan(500);
});

test('metadata.json tells the title and the length', async () => {
  const response = await get(`/${asset.publicId}/metadata.json`);
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(await response.json()).toEqual([
    {
      metadata: [{ key: 'title', value: 'Harbour "walk" <1>' }],
      titles: [{ language: 'und', title: 'Harbour "walk" <1>' }],
      'start-time': 0,
      duration: source.plan.durationSeconds,
    },
  ]);
});

test('a browser gets a page of this origin alone, with the status of the video', async () => {
  const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
  const page = await get(`/${asset.publicId}?max_resolution=270p`, html);
  const text = await page.text();
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(text).toContain('<title>Harbour &#34;walk&#34; &#60;1&#62;</title>');
  expect(text).toContain(`data-source="/${asset.publicId}.m3u8?max_resolution=270p"`);
  // Cards and oEmbed name this server with its origin.
  expect(new Set(text.match(/https?:\/\/[^/"]+/g))).toEqual(new Set([server.origin]));
  for (const [, path] of text.matchAll(/(?:src|href)="(\/[^"]+)"/g))
    expect((await get(path!.replaceAll('&#38;', '&'))).status, path).toBe(200);
  expect((await get(`/${asset.publicId}.m3u8`, html)).headers.get('content-type')).toContain('mpegurl');
  expect((await get(`/${preparing.publicId}`, html)).status).toBe(412);
  expect((await get(`/${asset.signedId}`, html)).status).toBe(403);
  expect((await get(`/${newId()}`, html)).status).toBe(404);
});

test('deletion is visible at once', async () => {
  const gone = await server.addAsset(source);
  expect((await get(`/${gone.publicId}.m3u8`)).status).toBe(200);
  await server.database.queryable.deleteFrom('asset').where('id', '=', gone.assetId).execute();
  server.playables.forget(gone.assetId);
  expect((await get(`/${gone.publicId}.m3u8`)).status).toBe(404);
});

test('a viewer that leaves ends the work that only it waited for', async () => {
  const other = await server.addAsset(source);
  const rendition = source.video.renditions[0]!.name;
  const leaving = request(`${server.origin}/${other.publicId}/${GENERATION}/${rendition}/0.m4s`);
  leaving.on('error', () => undefined).end();
  await once(leaving, 'socket');
  await new Promise((resolve) => setTimeout(resolve, 30));
  leaving.destroy();
  // The same segment can be had right away.
  expect((await get(`/${other.publicId}/${GENERATION}/${rendition}/0.m4s`)).status).toBe(200);
  expect([...server.logger.lines, ...server.requestLog.lines].filter(({ level }) => level === 'error')).toEqual([]);
});

test('a segment that takes longer than a player waits is there when it asks again', async () => {
  const other = await server.addAsset(source);
  const path = `/${other.publicId}/${GENERATION}/${source.video.renditions[0]!.name}/0.m4s`;
  const { pool } = server;
  const runJob = pool.run.bind(pool);
  const run = vi.spyOn(pool, 'run').mockImplementation(async (job, options) => {
    if (job.kind === 'video-segment') await delay(8000);
    return runJob(job, options);
  });
  const player = new AbortController();
  const given = fetch(server.origin + path, { signal: player.signal });
  await vi.waitFor(() => expect(run).toHaveBeenCalled(), 60_000);
  await delay(5500);
  player.abort();
  await expect(given).rejects.toThrow('aborted');
  expect((await get(path)).status).toBe(200);
  // The next ones are read ahead.
  const firsts = run.mock.calls.filter(([job]) => job.kind === 'video-segment' && job.sequence === 1);
  expect(firsts).toHaveLength(1);
  run.mockRestore();
});

test('warming makes the start of the start rendition and the audio beside it', async () => {
  const fresh = await server.addAsset(source);
  const { plan, video } = source;
  await server.segments.warm({ id: fresh.assetId, plan }, { priority: 2 });
  const has = (rendition: string, file: string) =>
    server.store.has({ assetId: fresh.assetId, plan: GENERATION, rendition, file });
  for (const rendition of [video.startRendition, 'audio']) {
    expect(['init.mp4', '0.m4s'].map((file) => has(rendition, file))).toEqual([true, true]);
  }
});

test('a segment larger than its rendition promises is encoded again, smaller', async () => {
  const encoded = await planFile(await fixture('hevc-aac.mp4'));
  const [rendition] = encoded.video.renditions;
  const whole = await server.addAsset(encoded);
  const path = (id: string) => `/${id}/${GENERATION}/${rendition!.name}/2.m4s`;
  const usual = (await (await get(path(whole.publicId))).arrayBuffer()).byteLength;
  const [start, end] = encoded.video.boundaries.slice(2);
  const seconds = (end! - start!) / encoded.video.timescale;
  const bandwidth = Math.floor((usual * 8 * 0.6) / seconds);
  const video = { ...encoded.video, renditions: [{ ...rendition!, bandwidth }] };
  const tight = await server.addAsset({ path: encoded.path, plan: { ...encoded.plan, video } });
  const smaller = (await (await get(path(tight.publicId))).arrayBuffer()).byteLength;
  expect((smaller * 8) / seconds).toBeLessThanOrEqual(bandwidth);
  expect(server.logger.lines.some(({ message }) => message.includes('encoding again'))).toBe(true);
});

test('a source that cannot be decoded is an internal error without its cause, and is not kept', async () => {
  const broken = await server.addAsset({ path: import.meta.filename, plan: source.plan });
  const rendition = source.video.renditions[0]!.name;
  for (const file of ['0.m4s', '0.m4s']) {
    expect(await refusal(get(`/${broken.publicId}/${GENERATION}/${rendition}/${file}`))).toEqual([
      500,
      { code: 13, message: 'Internal error' },
    ]);
  }
  expect(server.store.has({ assetId: broken.assetId, plan: GENERATION, rendition, file: '0.m4s' })).toBe(false);
  const logged = server.requestLog.lines.filter(({ level }) => level === 'error');
  expect(logged.length).toBe(2);
});

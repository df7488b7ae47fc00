import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkLimits, probeFile } from '#kinora/early/file/probe-file.js';
import { systemClock } from '#kinora/lib/clock.js';
import type { SourceFacts } from '#kinora/media/source/source-facts.js';
import { MediaPool, type MediaPoolOptions, mediaPriority } from '#kinora/pool/media-pool.js';
import type { SandboxLevel } from '#kinora/pool/sandbox.js';
import { writeMedia } from '../support/media/fixture-media.js';
import { fixture } from '../support/media/fixtures.js';
import { manyEdits } from '../support/media/hostile-mp4.js';
import { memoryLogger } from '../support/memory-logger.js';

const MIB = 2 ** 20;
const refusal = (message: string | RegExp) => ({
  code: 'invalid_input',
  message: typeof message === 'string' ? message : expect.stringMatching(message),
});

const root = mkdtempSync(join(tmpdir(), 'kinora-hostile-'));
const sources = join(root, 'sources');
let reached = 0;
const server = createServer((_request, response) => {
  reached += 1;
  response.end(readFileSync(sibling));
});
let sibling: string;
let siblingTs: string;
let origin: string;
let pools: readonly MediaPool[] = [];
const logger = memoryLogger();
/** Why media processes ended before their jobs. */
const lost = ({ lines }: typeof logger): unknown[] =>
  lines
    .filter(({ message }) => message === 'media process exited before its job ended')
    .map(({ fields }) => fields.reason);

const start = (
  levels: readonly SandboxLevel[] | undefined,
  overrides: Partial<MediaPoolOptions> = {},
): Promise<MediaPool> =>
  MediaPool.start({
    size: 2,
    readDirs: [sources],
    writeDir: join(root, 'scratch'),
    memoryBytes: 512 * MIB,
    logger,
    clock: systemClock,
    ...(levels === undefined ? {} : { levels }),
    ...overrides,
  });

beforeAll(async () => {
  mkdirSync(sources);
  sibling = join(sources, 'sibling.mp4');
  siblingTs = join(sources, 'sibling.ts');
  copyFileSync(await fixture('h264-fragmented.mp4'), sibling);
  copyFileSync(await fixture('h264-aac.ts'), siblingTs);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // Without isolation too: the engine's own refusal must not depend on what the sandbox hides.
  pools = [await start(undefined), await start(['none'])];
});
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.stop()));
  server.close();
  rmSync(root, { recursive: true, force: true });
});

/** The first steps of an ingest. */
const probe = async (pool: MediaPool, path: string): Promise<SourceFacts> => {
  const facts = await probeFile({ pool, signal: new AbortController().signal }, { path });
  checkLimits(facts);
  return facts;
};

const mpd = (baseUrl: string): string =>
  '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT6S" ' +
  'profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period><AdaptationSet mimeType="video/mp4">' +
  `<Representation id="1" bandwidth="100000"><BaseURL>${baseUrl}</BaseURL></Representation></AdaptationSet></Period></MPD>`;
const m3u8 = (uri: string): string => `#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:6,\n${uri}\n#EXT-X-ENDLIST\n`;

describe('a source that names others', () => {
  const contents: Record<string, () => string> = {
    'a playlist of a local file': () => m3u8(`file://${siblingTs}`),
    'a playlist of a relative file': () => m3u8('sibling.ts'),
    'a playlist of /etc/passwd': () => m3u8('file:///etc/passwd'),
    'a playlist of an inside address': () => m3u8(`${origin}/a.ts`),
    'a playlist of a subfile': () => m3u8(`subfile,,start,0,end,100,,:${siblingTs}`),
    'a playlist with a key file': () =>
      m3u8('sibling.ts').replace('#EXTINF', '#EXT-X-KEY:METHOD=AES-128,URI="file:///etc/passwd"\n#EXTINF'),
    'a concat script': () => "ffconcat version 1.0\nfile 'sibling.mp4'\n",
    'a concat script with a path': () => `ffconcat version 1.0\nfile '${sibling}'\n`,
    'a concat script with an address': () => `ffconcat version 1.0\nfile '${origin}/a.mp4'\n`,
    'a DASH manifest of a local file': () => mpd(`file://${sibling}`),
    'a DASH manifest of an inside address': () => mpd(`${origin}/a.mp4`),
    'a session description': () =>
      'v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nm=video 9 RTP/AVP 96\na=rtpmap:96 H264/90000\n',
    'an image sequence pattern': () => 'not an image',
  };
  for (const [what, content] of Object.entries(contents)) {
    it(`is refused: ${what}`, async () => {
      for (const name of ['source.mp4', 'source.m3u8', 'source.mpd', 'source.ffconcat', 'source', 'source%03d.png']) {
        const path = join(sources, name);
        writeFileSync(path, content());
        const expected = refusal(/^The (input file is not a valid video file|file format \w+ is not supported)\.$/);
        for (const pool of pools) await expect(probe(pool, path), name).rejects.toMatchObject(expected);
      }
      expect(reached).toBe(0);
    });
  }

  it('is refused when the path itself is a protocol', async () => {
    for (const path of [
      `concat:${siblingTs}`,
      `${origin}/a.mp4`,
      `subfile,,start,0,end,0,,:${sibling}`,
      'data:video/mp4;base64,AAAA',
    ]) {
      for (const pool of pools) await expect(probe(pool, path), path).rejects.toBeInstanceOf(Error);
    }
    expect(reached).toBe(0);
  });

  it('is not what the fixtures beside it are: those open', async () => {
    for (const pool of pools) {
      for (const path of [sibling, siblingTs]) expect((await probe(pool, path)).video?.codec).toBe('h264');
    }
  });
});

describe('a source whose index is endless', () => {
  it('is given up when it has used up its CPU time, at the first try', async () => {
    const path = join(sources, 'edits.mp4');
    writeFileSync(path, manyEdits(2_000, 5_000_000));
    const pool = await start(undefined, { headerCpuMs: 4000 });
    const { formatName, video } = await probe(pool, path);
    const before = lost(logger);
    const index = pool.run(
      {
        kind: 'index',
        source: { path, formatName },
        videoStreamIndex: video!.streamIndex,
        outPath: join(root, 'scratch', 'index'),
      },
      { priority: mediaPriority.warmUp },
    );
    await expect(index).rejects.toMatchObject(
      refusal('The file is damaged: its index takes too much CPU time to read.'),
    );
    expect(lost(logger).slice(before.length)).toEqual([expect.stringMatching(/^CPU time of 4\d{3} ms is used up/)]);
    await pool.stop();
  });
});

describe('a source that unpacks to more than it may', () => {
  it('is refused within the memory ceiling, and others are served meanwhile', async () => {
    const bomb = join(sources, 'bomb.mkv');
    copyFileSync(await fixture('png-bomb.mkv'), bomb);
    const [pool] = pools as [MediaPool];
    const expected = refusal('The video has 12000x12000 pixels, which is more than is supported.');
    const refused = expect(probe(pool, bomb)).rejects.toMatchObject(expected);
    expect((await probe(pool, sibling)).video?.width).toBe(320);
    await refused;
  });

  it('cannot be decoded when its frames are larger than the file says', async () => {
    const path = join(sources, 'lying.mkv');
    const video = { encoder: 'mjpeg', width: 320, height: 180, rate: [30, 1], filter: 'format=yuvj420p' } as const;
    writeMedia({ muxer: 'matroska', seconds: 0.2, video }, path);
    const bytes = readFileSync(path);
    // Every baseline frame header (ISO 10918-1 B.2.2): marker, length, precision, height, width.
    const header = Buffer.from([0xff, 0xc0, 0, 17, 8, 0, 180, 1, 64]);
    let patched = 0;
    for (let at = bytes.indexOf(header); at >= 0; at = bytes.indexOf(header, at)) {
      bytes.writeUInt16BE(30_000, at + 5);
      bytes.writeUInt16BE(30_000, at + 7);
      patched += 1;
    }
    expect(patched).toBeGreaterThan(0);
    writeFileSync(path, bytes);
    for (const pool of pools) {
      const facts = await probe(pool, path);
      const sanity = await pool.run(
        {
          kind: 'sanity',
          source: { path, formatName: facts.formatName },
          video: { streamIndex: 0, threads: 2 },
          durationSeconds: facts.durationSeconds,
        },
        { priority: mediaPriority.warmUp },
      );
      expect(sanity.decodable).toBe(false);
    }
  });
});

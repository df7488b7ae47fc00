import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SideCars } from '#kinora/jobs/ingest/tracks/side-cars.js';
import { newId } from '#kinora/lib/ids.js';
import { createTextParser } from '#kinora/packager/parse-text.js';
import { TextTracks } from '#kinora/packager/text-tracks.js';
import type { BlobWrite } from '#kinora/storage/blob-store.js';
import { DiskBlobStore } from '#kinora/storage/disk/disk-blob-store.js';
import { trackTextIndexKey, trackTextKey } from '#kinora/storage/keys.js';
import { quietLogger } from '../../support/logger.js';
import { runScript } from '../../support/processes/child.js';

const SIZE = 10 * 2 ** 20;
const CUE = Buffer.from('1\n00:00:01,000 --> 00:00:02,000\n');
/** Japanese in Shift-JIS, again and again. */
const shiftJis = Buffer.alloc(SIZE, Buffer.from([0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea, 0x0a]));
const hostile = [
  ['only line ends', Buffer.alloc(SIZE, '\r')],
  ['one huge cue', Buffer.concat([CUE, Buffer.alloc(SIZE, 'x')])],
  ['one cue of many lines', Buffer.concat([CUE, Buffer.alloc(SIZE, 'x\n')])],
  ['one cue of brackets', Buffer.concat([CUE, Buffer.alloc(SIZE, '<')])],
  ['Shift-JIS', Buffer.concat([CUE, shiftJis])],
  ['a million cues', Buffer.alloc(SIZE, '00:00.000 --> 99:00.000\nx\n\n')],
] as const;

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kinora-text-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

it.for(hostile)('does something else meanwhile: %s', async ([, bytes]) => {
  let isDone = false;
  let turns = 0;
  const parsing = createTextParser()(bytes)
    .then(
      ({ bytes: written }) => written.length,
      (error: { code: string }) => error.code,
    )
    .finally(() => {
      isDone = true;
    });
  while (!isDone) {
    await delay(1);
    turns++;
  }
  const result = await parsing;
  if (typeof result === 'number') expect(result).toBeLessThan(SIZE);
  else expect(result).toBe('invalid_input');
  // A parser on this thread would leave one turn at most.
  expect(turns).toBeGreaterThan(5);
});

/** The worst of these needs about half of it. V8 ends a process that needs more. */
const HEAP_MIB = 64;
/**
 * Of the whole process, with the file and the text, which are outside the heap: 66 to 114 MiB were
 * measured. The maximum of `resourceUsage` would count the test process too, from which the child
 * starts.
 */
const RESIDENT_MIB = 192;

it.for(hostile)('needs little memory: %s', async ([, bytes]) => {
  const path = join(dir, newId());
  await writeFile(path, bytes);
  const child = runScript(
    `import { readFileSync } from 'node:fs';
    const { decodeText } = await kinora('media/text/decode-text.js');
    const { parseSubtitles } = await kinora('media/text/subtitles.js');
    const { indexCues } = await kinora('media/text/text-index.js');
    const parsed = parseSubtitles(decodeText(readFileSync(process.argv[1])));
    if (parsed) indexCues(parsed.cues);
    console.log(Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024);`,
    [path],
    [`--max-old-space-size=${HEAP_MIB}`],
  );
  expect(await child.closed).toEqual([0, null]);
  expect(Number(child.lines[0])).toBeLessThan(RESIDENT_MIB);
});

it('gives up a file that takes too much time, and goes on with the next', async () => {
  const refused = { code: 'invalid_input', messages: ['The text file could not be parsed.'] };
  const hasty = createTextParser(1);
  await expect(hasty(hostile[5][1])).rejects.toMatchObject(refused);
  const parse = createTextParser();
  const leaving = new AbortController();
  const [left, next] = [parse(hostile[5][1], leaving.signal), parse(Buffer.concat([CUE, Buffer.from('Hé')]))];
  leaving.abort();
  await expect(left).rejects.toMatchObject({ code: 'cancelled' });
  const { format, bytes } = await next;
  expect([format, Buffer.from(bytes).toString()]).toEqual(['srt', 'WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nHé\n']);
  await expect(parse(Buffer.from('<html>'))).rejects.toMatchObject(refused);
});

it('a stored track is never parsed again, one without an index once', async () => {
  const blobs = new DiskBlobStore(dir);
  const parse = createTextParser();
  let parsed = 0;
  const counting: typeof parse = (...of) => {
    parsed++;
    return parse(...of);
  };
  const [assetId, trackId, oldId, emptyId] = [newId(), newId(), newId(), newId()];
  const text = await parse(Buffer.concat([CUE, Buffer.from('Hé')]));
  await new TextTracks(blobs, counting).store(assetId, trackId, text);
  await blobs.put(trackTextKey(assetId, oldId), text.bytes);
  await blobs.put(trackTextKey(assetId, emptyId), Buffer.from('WEBVTT\n'));
  for (let start = 0; start < 3; start++) {
    const texts = new TextTracks(blobs, counting);
    const found = await Promise.all([trackId, oldId, emptyId].map((id) => texts.find(assetId, id)));
    expect(found.map((track) => [Buffer.from(track!.bytes).toString(), track!.startSeconds.length])).toEqual([
      [Buffer.from(text.bytes).toString(), 1],
      [Buffer.from(text.bytes).toString(), 1],
      ['WEBVTT\n', 0],
    ]);
    expect(await texts.find(assetId, newId())).toBeUndefined();
    expect(parsed).toBe(2);
  }
  for (const id of [trackId, oldId, emptyId]) expect(await blobs.stat(trackTextIndexKey(assetId, id))).toBeDefined();
});

it('has four of twenty files of an asset in memory at most, and one thread', async () => {
  const file = Buffer.from(`WEBVTT\n\nNOTE ${'x'.repeat(2 ** 16)}\n\n00:01.000 --> 00:02.000\nx\n`);
  const assetId = newId();
  const tracks = Array.from({ length: 20 }, (_, at) => ({
    ...{ id: newId(), asset_id: assetId, type: 'text', status: 'preparing', source_validator: null },
    ...{ input_position: at + 1, url: 'http://example.com/text.vtt' },
  }));
  let [heldBytes, mostBytes, threads, mostThreads] = [0, 0, 0, 0];
  const parser = createTextParser();
  const parse: typeof parser = (bytes, signal) => {
    heldBytes += bytes.length;
    mostBytes = Math.max(mostBytes, heldBytes);
    return parser(bytes, signal).finally(() => {
      heldBytes -= bytes.length;
    });
  };
  const count = (worker: Worker): void => {
    threads++;
    mostThreads = Math.max(mostThreads, threads);
    worker.once('exit', () => threads--);
  };
  const blobs = new DiskBlobStore(dir);
  let tellDone: (completed: number) => void;
  const done = new Promise<number>((resolve) => {
    tellDone = resolve;
  });
  const ended = { complete: 0, failed: 0 };
  const end = (how: keyof typeof ended) => async () => {
    ended[how]++;
    if (ended.complete + ended.failed === tracks.length) tellDone(ended.complete);
  };
  const state = {
    listPreparing: async () => [...tracks],
    saveInputFile: async () => undefined,
    needsFiles: async () => true,
    complete: end('complete'),
    fail: end('failed'),
  };
  const fetch = async (_url: string, target: BlobWrite) => {
    await target.write(file);
    await target.commit();
  };
  const { signal } = new AbortController();
  const deps = { state, blobs, texts: new TextTracks(blobs, parse), fetcher: { fetch }, logger: quietLogger, signal };
  process.on('worker', count);
  const sideCars = SideCars.start(deps as unknown as Parameters<typeof SideCars.start>[0], assetId);
  try {
    sideCars.planned({ durationSeconds: 10 } as Parameters<typeof sideCars.planned>[0]);
    expect(await done).toBe(tracks.length);
  } finally {
    await sideCars.stop();
    process.off('worker', count);
  }
  expect([mostBytes, mostThreads]).toEqual([4 * file.length, 1]);
});

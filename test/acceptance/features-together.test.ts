import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EncodedName, fixture, recipeOf } from '../support/media/fixtures.js';
import { countFrames, probeFile, readLuma } from '../support/media/measure.js';
import { writePng } from '../support/media/png.js';
import { readSourceTruth } from '../support/media/source-truth.js';
import { fetchBytes } from '../support/players/play.js';
import { type Played, playThrough, readMultivariant } from '../support/players/play-through.js';
import { checkPlaylists, readFrames } from '../support/players/playback-checks.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { readCues } from '../support/servers/text-origin.js';
import { createAsset, serveFiles, settled, type WireAsset } from '../support/wire/create-asset.js';
import { filesOf, withFiles } from '../support/wire/static-renditions.js';
import { withTracks } from '../support/wire/tracks.js';

/**
 * Timestamps, shapes and streams of each kind, and some codecs. All of them play in
 * `playback-matrix-codecs.test.ts`.
 */
const SOURCES: readonly EncodedName[] = [
  'h264-mp3.avi',
  'hevc-ac3.mkv',
  'av1-aac.mp4',
  'mpeg2-ac3.ts',
  'audio-longer.mp4',
  'video-only.mp4',
  'audio-only.mp3',
  'vfr.mkv',
  'portrait-90.mp4',
  'odd-size.webm',
  'interlaced-tff.ts',
  'hdr-pq.mp4',
  'open-gop.mp4',
  'edit-list.mp4',
  'start-3600s.ts',
];
const SUBTITLES = 'WEBVTT\n\n00:00:02.000 --> 00:00:03.500\nsecond two\n';
const CLIP = { start_time: 1.5, end_time: 3.75 };

let server: Booted;
let origin: Origin;
let folder: string;
const assetIds = new Map<string, string>();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kinora-features-'));
  const [logo, text] = [join(folder, 'logo.png'), join(folder, 'text.vtt')];
  await writeFile(
    logo,
    writePng(32, 32, () => [255, 255, 255, 255]),
  );
  await writeFile(text, SUBTITLES);
  const paths: string[] = [];
  for (const name of SOURCES) paths.push(await fixture(name));
  origin = await serveFiles([...paths, await fixture('audio-only.m4a'), text, logo]);
  server = await boot();
  const url = (file: number) => `${origin.url}/${file}`;
  const [dub, subtitles, mark] = [SOURCES.length, SOURCES.length + 1, SOURCES.length + 2].map(url);
  for (const [index, name] of SOURCES.entries()) {
    const side = { url: subtitles, type: 'text', text_type: 'subtitles' };
    const corner = { vertical_align: 'bottom', horizontal_align: 'right', width: '20%', height: '20%' };
    const asset = await createAsset(server, {
      inputs: [
        { url: url(index) },
        { url: dub, type: 'audio', language_code: 'es' },
        { ...side, language_code: 'en' },
        { ...side, language_code: 'fr', closed_captions: true },
        { url: mark, overlay_settings: corner },
      ],
      playback_policies: ['public'],
      static_renditions: [{ resolution: 'highest' }, { resolution: 'audio-only' }],
    });
    assetIds.set(name, asset.id);
  }
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await rm(folder, { recursive: true, force: true });
});

const finished = async (id: string): Promise<WireAsset> => {
  const asset = await settled(server, id);
  expect(asset.errors).toBeUndefined();
  await withTracks(server, asset);
  return withFiles(server, id);
};
const streamOf = (asset: WireAsset): string => `${server.url}/${asset.playback_ids![0]!.id}`;
const tracksOf = (asset: WireAsset): unknown[] =>
  asset.tracks!.map(({ type, status = 'ready', language_code }) => [type, status, language_code]);

const checkMark = ({ variants }: Played): void => {
  for (const { init, segments } of variants)
    for (const { luma, width, height } of readLuma([init, ...segments.map(({ bytes }) => bytes)])) {
      const corner = [];
      for (let y = Math.ceil(height * 0.84); y < Math.floor(height * 0.96); y++)
        corner.push(...luma.subarray(y * width + Math.ceil(width * 0.84), y * width + Math.floor(width * 0.96)));
      expect(Math.min(...corner)).toBeGreaterThan(225);
    }
};

test.each(SOURCES)('%s with an overlay, a second language, subtitles, files, and a clip of all that', async (name) => {
  const { video, audio } = recipeOf(name);
  const asset = await finished(assetIds.get(name)!);
  const expected = [
    ...(video ? [['video', 'ready', undefined]] : []),
    ...(audio ? [['audio', 'ready', expect.any(String)]] : []),
    ['audio', 'ready', 'es'],
    ['text', 'ready', 'en'],
    ['text', 'ready', 'fr'],
  ];
  expect(tracksOf(asset)).toEqual(expected);
  const stream = streamOf(asset);
  const played = await playThrough(`${stream}.m3u8`);
  checkPlaylists(played, asset);
  if (video) checkMark(played);
  const { lines } = played;
  expect(lines.filter((line) => line.startsWith('#EXT-X-MEDIA:TYPE=SUBTITLES'))).toHaveLength(2);
  expect(lines.filter((line) => line.startsWith('#EXT-X-MEDIA:TYPE=AUDIO'))).toHaveLength(audio ? 2 : 1);

  const truth = await readSourceTruth(name);
  const files = filesOf(asset);
  expect(files.map(({ name, status }) => [name, status])).toEqual([
    ['highest.mp4', video ? 'ready' : 'skipped'],
    // Files carry the audio of the main input.
    ['audio.m4a', audio ? 'ready' : 'skipped'],
  ]);
  for (const file of files.filter(({ status }) => status === 'ready')) {
    const bytes = await fetchBytes(`${stream}/${file.name}`);
    expect(bytes.length).toBe(Number(file.filesize));
    expect(Math.abs(probeFile([bytes]).durationSeconds - asset.duration!)).toBeLessThan(0.03);
    if (file.name === 'highest.mp4') expect(countFrames([bytes])).toBeGreaterThanOrEqual(truth.frames.length);
  }

  const clipped = await createAsset(server, {
    inputs: [{ url: `mux://assets/${asset.id}`, ...CLIP }],
    playback_policies: ['public'],
  });
  const clip = await finished(clipped.id);
  expect(tracksOf(clip)).toEqual(expected);
  const shown = await playThrough(`${streamOf(clip)}.m3u8`);
  checkPlaylists(shown, clip);
  if (video) checkMark(shown);
  const tolerance = Math.max(truth.frameSeconds, 1024 / 44_100) * 2;
  expect(Math.abs(clip.duration! - (CLIP.end_time - CLIP.start_time))).toBeLessThan(tolerance);
  const first = truth.frames.findLast(({ seconds }) => seconds <= CLIP.start_time + 1e-3);
  for (const variant of shown.variants.filter(() => video))
    expect(readFrames(variant)[0]!.counter).toBe(first!.counter);
  const text = clip.tracks!.find(({ language_code }) => language_code === 'fr')!;
  const cues = readCues((await fetchBytes(`${streamOf(clip)}/text/${text.id}.vtt`)).toString());
  expect(cues).toHaveLength(1);
  expect(Math.abs(cues[0]!.startSeconds - (2 - CLIP.start_time))).toBeLessThan(tolerance);
  expect((await readMultivariant(`${streamOf(clip)}.m3u8`)).audioGroup).toHaveLength(audio ? 2 : 1);
});

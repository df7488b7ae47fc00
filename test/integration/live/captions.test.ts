/** Captions inside the video of a broadcast (CEA-608). */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addCaptions, type Code, captionUnits, ERASE_SHOWN, popOn } from '../../support/media/captions.js';
import { ffmpegPath } from '../../support/media/ffmpeg-command.js';
import { writeMedia } from '../../support/media/fixture-media.js';
import { readTags, replaceTags, type Tag } from '../../support/media/flv-packets.js';
import { readPacketBytes, readPackets } from '../../support/media/measure.js';
import { parseLivePlaylist } from '../../support/players/live-playlist.js';
import { readMultivariant } from '../../support/players/play-through.js';
import { LiveStation } from '../../support/servers/live-station.js';
import { cleanUpServers, until } from '../../support/servers/server-process.js';
import { readCues } from '../../support/servers/text-origin.js';
import { api } from '../../support/wire/create-asset.js';
import { eventsOf } from '../../support/wire/events.js';
import { withTracks } from '../../support/wire/tracks.js';

const FRAMES = 180;
const RATE = 30;
const VIDEO = 9;

let station: LiveStation;
let dir: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kinora-captions-'));
  station = await LiveStation.open({ options: { LIVE_RUNGS: '1' } });
});
afterAll(async () => {
  station.close();
  rmSync(dir, { recursive: true, force: true });
  await cleanUpServers();
});

/** A code for each frame; each entry says with which frame its codes begin. */
const schedule = (entries: Readonly<Record<number, readonly Code[]>>): Code[] => {
  const codes = Array.from({ length: FRAMES }, (): Code => [0, 0]);
  for (const [first, list] of Object.entries(entries)) codes.splice(Number(first), list.length, ...list);
  return codes;
};

const HARBOR = popOn('Harbor news at six,\nwith Ana.');
const SHIPS = popOn('Two ships.');
const BARCOS = popOn('Buenas tardes');
const field1 = schedule({ 10: HARBOR, 60: SHIPS, 120: [ERASE_SHOWN, ERASE_SHOWN] });
/** Field 2 uses other codes for commands. */
const field2 = schedule({ 30: BARCOS }).map(
  ([first, second]): Code => [first === 0x14 && second < 0x30 ? 0x15 : first, second],
);

/** All complete segments of a variant, behind its init segment. */
const download = async (url: string): Promise<Buffer> => {
  const { segments } = parseLivePlaylist(await (await fetch(url)).text());
  const uris = segments.flatMap(({ uri }) => uri ?? []);
  const files = [segments[0]!.map!, ...uris].map(async (uri) => {
    const response = await fetch(new URL(uri, url));
    expect(response.status).toBe(200);
    return Buffer.from(await response.arrayBuffer());
  });
  return Buffer.concat(await Promise.all(files));
};

const writeCaptioned = (path: string): Tag[] => {
  writeMedia(
    {
      muxer: 'flv',
      seconds: FRAMES / RATE,
      video: {
        encoder: 'libx264',
        width: 640,
        height: 360,
        rate: [RATE, 1],
        gop: 30,
        bFrames: 2,
        options: { preset: 'ultrafast', crf: '35', 'x264-params': 'scenecut=0:open-gop=0:threads=1:b-adapt=0' },
      },
      audio: { encoder: 'aac', sampleRate: 48_000, channels: 2, bitRate: 96_000 },
    },
    path,
  );
  const tags = addCaptions(readTags(path), [field1, field2]);
  replaceTags(path, tags);
  return tags;
};

/** The units with captions, in the order in which frames are shown. */
const displayedUnits = (file: Buffer): Buffer[] => {
  const bytes = readPacketBytes([file]);
  return readPackets([file])
    .filter(({ streamIndex }) => streamIndex === 0)
    .map(({ ptsSeconds }, at) => ({ ptsSeconds, units: captionUnits(bytes[at]!) }))
    .sort((a, b) => a.ptsSeconds - b.ptsSeconds)
    .flatMap(({ units }) => units);
};

/** What the decoder of the system's FFmpeg reads in the first field. */
const readByFfmpeg = async (file: Buffer): Promise<string> => {
  const path = join(dir, 'copied.mp4');
  writeFileSync(path, file);
  const args = ['-v', 'error', '-f', 'lavfi', '-i', `movie=${path}[out0+subcc]`, '-map', '0:s', '-f', 'srt', '-'];
  return (await promisify(execFile)(ffmpegPath!, args)).stdout;
};

test('captions in the video are announced, stay in all variants, and become tracks', async () => {
  const path = join(dir, 'session.flv');
  const tags = writeCaptioned(path);
  const stream = await station.create({
    reconnect_window: 0,
    embedded_subtitles: [
      { name: 'English CC', language_code: 'en', language_channel: 'cc1', passthrough: 'first' },
      { name: 'Español', language_code: 'es', language_channel: 'cc3' },
      { name: 'Silent', language_code: 'fr', language_channel: 'cc2' },
    ],
  });
  station.publish(stream, { path });
  const assetId = await station.untilActive(stream);
  const asset = (await (await api(station.server, 'GET', `/video/v1/assets/${assetId}`)).json()) as {
    data: { playback_ids: { id: string }[] };
  };
  const playbackId = asset.data.playback_ids[0]!.id;

  const played = await readMultivariant(`${station.server.url}/${playbackId}.m3u8`);
  const listed = played.lines.filter((line) => line.startsWith('#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS'));
  expect(listed.map((line) => line.replace(/,CHARACTERISTICS.*/, ''))).toEqual(
    [
      ['English CC', 'en', 'CC1'],
      ['Español', 'es', 'CC3'],
      ['Silent', 'fr', 'CC2'],
    ].map(
      ([name, language, channel]) =>
        `#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc",NAME="${name}",LANGUAGE="${language}",DEFAULT=NO,AUTOSELECT=YES,INSTREAM-ID="${channel}"`,
    ),
  );
  expect(played.variants.map(({ attributes }) => attributes['CLOSED-CAPTIONS'])).toEqual(['cc', 'cc']);

  // From here on the encoder makes the lower variant; what was before is made on request.
  const urls = played.variants.map(({ url }) => url);
  await until('the broadcast has ended', async () => {
    const playlists = urls.map(async (url) => parseLivePlaylist(await (await fetch(url)).text()).ended);
    return (await Promise.all(playlists)).every(Boolean);
  });

  const sentUnits = tags
    .filter(({ typeId, payload }) => typeId === VIDEO && payload[1] === 1)
    .map(({ ms, payload }) => ({ displayedMs: ms + payload.readIntBE(2, 3), units: captionUnits(payload.subarray(5)) }))
    .sort((a, b) => a.displayedMs - b.displayedMs)
    .flatMap(({ units }) => units);
  expect(sentUnits).toHaveLength(FRAMES);
  const files = await Promise.all(urls.map(download));
  const [copied, encoded] = files.map(displayedUnits);
  expect(copied!.map((unit) => unit.toString('hex'))).toEqual(sentUnits.map((unit) => unit.toString('hex')));
  // x264 ends the list in another way.
  const pairsOf = (unit: Buffer): string => unit.subarray(13, 19).toString('hex');
  expect(encoded!.map(pairsOf)).toEqual(sentUnits.map(pairsOf));
  const subtitles = await readByFfmpeg(files[0]!);
  expect(subtitles).toContain('Harbor news at six,');
  expect(subtitles).toContain('Two ships.');

  const planned = await withTracks(station.server, await station.untilPlanned(assetId));
  const texts = planned.tracks!.filter(({ type }) => type === 'text');
  expect(texts).toMatchObject([
    {
      ...{ name: 'English CC', language_code: 'en', passthrough: 'first', status: 'ready' },
      ...{ text_source: 'embedded', text_type: 'subtitles', closed_captions: true },
    },
    { name: 'Español', language_code: 'es', status: 'ready', closed_captions: true },
    { name: 'Silent', status: 'errored' },
  ]);
  const told = await eventsOf(station.server, String(texts[2]!.id));
  expect(told.map(({ type }) => type)).toEqual(['video.asset.track.created', 'video.asset.track.errored']);
  expect(told[1]!.data.error).toMatchObject({ messages: ['The video has no captions in the channel cc2.'] });
  const cuesOf = async ({ id }: Record<string, unknown>) =>
    readCues(await (await fetch(`${station.server.url}/${playbackId}/text/${id}.vtt`)).text());
  const english = await cuesOf(texts[0]!);
  expect(english.map(({ text }) => text)).toEqual(['Harbor news at six,\nwith Ana.', 'Two ships.']);
  // The first of two equal codes counts.
  const displayedAt = [10 + HARBOR.length - 2, 60 + SHIPS.length - 2, 120].map((frame) => frame / RATE);
  const times = [english[0]!.startSeconds, english[1]!.startSeconds, english[1]!.endSeconds];
  for (const [at, seconds] of times.entries())
    expect(Math.abs(seconds - displayedAt[at]!)).toBeLessThanOrEqual(1 / RATE);
  expect(english[0]!.endSeconds).toBe(english[1]!.startSeconds);
  expect((await cuesOf(texts[1]!)).map(({ text }) => text)).toEqual(['Buenas tardes']);
});

/** Subtitles that are recognized while a broadcast is on air. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ffmpegPath } from '../../support/media/ffmpeg-command.js';
import { makeSpeech } from '../../support/media/spoken-audio.mjs';
import { parseLivePlaylist } from '../../support/players/live-playlist.js';
import { LiveStation } from '../../support/servers/live-station.js';
import { cleanUpServers, until } from '../../support/servers/server-process.js';
import { readCues, type TimedText } from '../../support/servers/text-origin.js';
import { api, getAsset } from '../../support/wire/create-asset.js';
import { recognized, textsOf } from '../../support/wire/recognized.js';

const RECOGNIZER = fileURLToPath(new URL('../../support/processes/recognizer.mjs', import.meta.url));
const SECONDS = 8;
const SPOKEN = [
  { startSeconds: 1, endSeconds: 2.5 },
  { startSeconds: 5, endSeconds: 6.5 },
];
/** Of mode `low`. */
const TARGET_SECONDS = 4;
/** Of the file: a playlist is late by one more than what is not there yet. */
const SEGMENT_SECONDS = 1;

let dir: string;
let station: LiveStation;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kinora-subtitles-'));
  const command = `"${process.execPath}" ${RECOGNIZER} ${join(dir, 'calls')} told {audio} {language} {phrases}`;
  station = await LiveStation.open({ options: { SPEECH_COMMAND: command } });
});
afterAll(async () => {
  station.close();
  rmSync(dir, { recursive: true, force: true });
  await cleanUpServers();
});

const hear = (manner: 'json' | 'hang'): void =>
  writeFileSync(join(dir, 'calls.manners'), JSON.stringify({ en: manner }));

const writeTalk = (): string => {
  const [wave, path] = [join(dir, 'talk.wav'), join(dir, 'talk.flv')];
  writeFileSync(wave, makeSpeech(SECONDS, SPOKEN));
  const video = ['-f', 'lavfi', '-i', `color=gray:s=320x180:r=30:d=${SECONDS}`, '-c:v', 'libx264', '-g', '30'];
  const audio = ['-i', wave, '-c:a', 'aac', '-ar', '48000', '-ac', '2'];
  execFileSync(ffmpegPath!, [
    '-v',
    'error',
    '-y',
    ...video.slice(0, 4),
    ...audio.slice(0, 2),
    ...video.slice(4),
    ...audio.slice(2),
    '-preset',
    'ultrafast',
    path,
  ]);
  return path;
};

const text = async (url: string): Promise<string> => {
  const response = await fetch(url);
  return response.status === 200 ? response.text() : '';
};
const playlistOf = async (url: string) => parseLivePlaylist(await text(url));
const subtitlesOf = (multivariant: string): string[] =>
  [...multivariant.matchAll(/TYPE=SUBTITLES.*URI="([^"]+)"/g)].map(([, uri]) => uri!);

test('what is said is in segments of text while live, and in a final track afterwards', async () => {
  hear('json');
  const path = writeTalk();
  const stream = await station.create({
    reconnect_window: 0,
    generated_subtitles: [{ name: 'English', language_code: 'en-US', passthrough: 'live' }],
  });
  const publisher = station.publish(stream, { path, loops: true });
  const assetId = await station.untilActive(stream);
  const [live] = textsOf(await getAsset(station.server, assetId));
  expect(live).toMatchObject({
    ...{ text_source: 'generated_live', status: 'ready', name: 'English', language_code: 'en-US', passthrough: 'live' },
  });

  const page = `${station.server.url}/${(await getAsset(station.server, assetId)).playback_ids![0]!.id}`;
  const [uri, ...others] = subtitlesOf(await text(`${page}.m3u8`));
  expect(others).toEqual([]);
  const url = new URL(uri!, `${page}.m3u8`).href;
  expect(url).toContain(`/live/text-${live!.id}/`);
  const videoUrl = `${page}/live/270p/playlist.m3u8`;
  const cuesOf = async (): Promise<TimedText[]> => {
    const { segments } = await playlistOf(url);
    const files = segments.map(async (segment) => readCues(await text(new URL(segment.uri!, url).href)));
    // A cue is in each segment in which it is displayed.
    return [...new Map((await Promise.all(files)).flat().map((cue) => [cue.startSeconds, cue])).values()];
  };
  // What a busy machine does not recognize in time has no text, but the file comes again.
  const isAt = (cue: TimedText, seconds: number): boolean => {
    const late = (cue.startSeconds - seconds) % SECONDS;
    return Math.min(Math.abs(late), SECONDS - Math.abs(late)) < 0.3;
  };
  await until('both are heard', async () => {
    const cues = await cuesOf();
    return SPOKEN.every(({ startSeconds }) => cues.some((cue) => isAt(cue, startSeconds)));
  });
  expect(new Set((await cuesOf()).map((cue) => cue.text))).toEqual(new Set(['trois mots dits']));

  // A recognizer that hangs leaves segments without text, and delays nothing more than that.
  hear('hang');
  const heard = (await cuesOf()).length;
  const before = (await playlistOf(videoUrl)).segments.length;
  await until('the broadcast went on', async () => (await playlistOf(videoUrl)).segments.length >= before + 16);
  const look = async () => {
    const listed = await playlistOf(url);
    const complete = (await playlistOf(videoUrl)).segments.filter((segment) => segment.uri !== undefined);
    return { listed, complete };
  };
  await until('text is hardly late', async () => {
    const { listed, complete } = await look();
    const lateSeconds = (complete.length - listed.segments.length) * SEGMENT_SECONDS;
    return lateSeconds <= 2 * TARGET_SECONDS + SEGMENT_SECONDS;
  });
  const { listed, complete } = await look();
  expect(listed.segments.map(({ seconds }) => seconds)).toEqual(
    complete.slice(0, listed.segments.length).map(({ seconds }) => seconds),
  );
  expect(listed.problems).toEqual([]);
  expect((await cuesOf()).length).toBeLessThan(heard + 4);
  expect(station.server.logText()).toContain('live subtitles skipped');

  hear('json');
  publisher.process.kill('SIGKILL');
  await station.untilPlanned(assetId);
  expect((await playlistOf(url)).ended).toBe(true);
  const texts = textsOf(await recognized(station.server, assetId));
  expect(texts.map(({ text_source, status }) => [text_source, status])).toEqual([
    ['generated_live', 'ready'],
    ['generated_live_final', 'ready'],
  ]);
  const [final, ...rest] = subtitlesOf(await text(`${page}.m3u8`));
  expect([final, rest]).toEqual([expect.stringContaining(`text-${texts[1]!.id}/`), []]);
  expect(readCues(await text(`${page}/text/${live!.id}.vtt`))[0]!.text).toBe('trois mots dits');
});

test('the track goes on after a restart of the server', async () => {
  hear('json');
  const stream = await station.create({ generated_subtitles: [{ name: 'English', language_code: 'en' }] });
  const publisher = station.publish(stream, { path: writeTalk(), loops: true });
  const assetId = await station.untilActive(stream);
  const playbackId = (await getAsset(station.server, assetId)).playback_ids![0]!.id;
  const [before] = subtitlesOf(await text(`${station.server.url}/${playbackId}.m3u8`));
  publisher.process.kill('SIGKILL');
  await station.server.stop();
  await station.start();
  await until('it is on air again', async () => {
    return subtitlesOf(await text(`${station.server.url}/${playbackId}.m3u8`)).join() === before;
  });
  expect((await api(station.server, 'PUT', `/video/v1/live-streams/${stream.id}/complete`)).status).toBe(200);
  await station.untilPlanned(assetId);
  const texts = textsOf(await recognized(station.server, assetId));
  expect(texts.map(({ text_source }) => text_source)).toEqual(['generated_live', 'generated_live_final']);
  expect(before).toContain(`text-${texts[0]!.id}/`);
});

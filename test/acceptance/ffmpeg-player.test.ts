import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findTool } from '#kinora/lib/find-tool.js';
import { fixture } from '../support/media/fixtures.js';
import { type MediaInput, probeFile, readAudio, readFrameCounters, readPackets } from '../support/media/measure.js';
import { withFolder } from '../support/media/video-run.js';
import { fetchBytes, mediaPlaylists, segmentsOf } from '../support/players/play.js';
import { beepTimesOf, flashTimes } from '../support/players/playback-checks.js';
import type { Origin } from '../support/servers/origin.js';
import { cleanUpServers, makeDataDir, type ServerProcess, startServer } from '../support/servers/server-process.js';
import { createAsset, serveFiles, settled } from '../support/wire/create-asset.js';

const everySecond = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
// FFmpeg's HLS demuxer reads the streams, as in players that are built on it (mpv, Kodi).
const flashes = { 'marks-30.mp4': everySecond, 'marks-vfr.mp4': everySecond, 'marks-slides.mp4': [3, 6, 9] };
const names = Object.keys(flashes) as (keyof typeof flashes)[];
let server: ServerProcess;
let origin: Origin;
beforeAll(async () => {
  origin = await serveFiles(await Promise.all(names.map((name) => fixture(name))));
  // In a process of its own: FFmpeg's calls block this one.
  server = await startServer({ dataDir: makeDataDir() });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await cleanUpServers();
});

/** Half a frame at 30 frames a second. */
const LIMIT_SECONDS = 1 / 60;
/** Debian's, which is older than the library of the tests. */
const ffmpeg = findTool('ffmpeg');

/** Each flash, and how late it is against the beep next to it. */
const distances = (input: MediaInput): { flash: number; late: number }[] => {
  const beeps = beepTimesOf(readAudio(input));
  return flashTimes(readFrameCounters(input)).map((flash) => {
    const nearest = beeps.reduce((best, beep) => (Math.abs(beep - flash) < Math.abs(best - flash) ? beep : best));
    return { flash, late: flash - nearest };
  });
};

describe.each(names)('%s', (name) => {
  let playbackId: string;
  let url: string;
  beforeAll(async () => {
    const inputs = [{ url: `${origin.url}/${names.indexOf(name)}` }];
    const { id } = await createAsset(server, { inputs, playback_policies: ['public'] });
    const asset = await settled(server, id);
    expect(asset.errors).toBeUndefined();
    playbackId = asset.playback_ids![0]!.id;
    url = `${server.url}/${playbackId}.m3u8`;
  });

  test('frames are reordered', () => {
    const { index } = probeFile(url).streams.find(({ type }) => type === 'video')!;
    const times = readPackets(url).flatMap(({ streamIndex, ptsSeconds }) =>
      streamIndex === index ? [ptsSeconds] : [],
    );
    expect(times).not.toEqual(times.toSorted((a, b) => a - b));
  });

  test('an encoded rendition is late by one short frame at most where the edit list is ignored', async () => {
    const lowest = (await mediaPlaylists(server.url, playbackId)).filter((playlist) => playlist.includes('/270p/'));
    expect(lowest).toHaveLength(1);
    const [init, ...segments] = await Promise.all((await segmentsOf(lowest[0]!)).map(fetchBytes));
    const at = init!.indexOf('edts');
    if (at >= 0) init!.write('free', at);
    const late = flashTimes(readFrameCounters([init!, ...segments])).map((seconds) => seconds - Math.round(seconds));
    expect(late).toHaveLength(flashes[name].length);
    for (const seconds of late) expect.soft(Math.abs(seconds)).toBeLessThan(1 / 15 + 0.001);
  });

  test.each([0, 7])('flash and beep come together after a start at %d s', (seekSeconds) => {
    const measured = distances(seekSeconds === 0 ? url : { url, seekSeconds });
    // After the seek it begins with the segment at 8 s, whose first frame is bright already.
    const expected = flashes[name].filter((second) => seekSeconds === 0 || second > 8);
    expect(measured.map(({ flash }) => Math.round(flash))).toEqual(expected);
    for (const { flash, late } of measured) expect.soft(Math.abs(late), `${flash} s`).toBeLessThan(LIMIT_SECONDS);
  });

  test.skipIf(!ffmpeg)('flash and beep come together in the ffmpeg program of the system', () => {
    const measured = withFolder((folder) => {
      const decoded = join(folder, 'decoded.nut');
      const toFile = ['-fps_mode', 'passthrough', '-c:v', 'rawvideo', '-pix_fmt', 'gray', '-c:a', 'pcm_s16le', decoded];
      execFileSync(ffmpeg!, ['-v', 'error', '-i', url, '-map', '0:v:0', '-map', '0:a:0', ...toFile]);
      return distances(decoded);
    });
    expect(measured.map(({ flash }) => Math.round(flash))).toEqual(flashes[name]);
    for (const { flash, late } of measured) {
      expect.soft(Math.abs(late), `${flash} s`).toBeLessThan(LIMIT_SECONDS);
      expect.soft(Math.abs(flash - Math.round(flash)), `${flash} s`).toBeLessThan(LIMIT_SECONDS);
    }
  });
});

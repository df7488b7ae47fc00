import { rmSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { scoreShots } from '#kinora/engine/analysis/shot-scores.js';
import { findShots } from '#kinora/media/shots/detect.js';
import { joinScores } from '#kinora/media/shots/scores.js';
import { planShotScores } from '#kinora/packager/image-jobs.js';
import { type EncodedName, fixture } from '../support/media/fixtures.js';
import { oneAfterAnother, scenes, writeScenes } from '../support/media/scenes.js';
import { planFile, silent } from '../support/media/video-run.js';

const made: string[] = [];
afterEach(() => {
  for (const path of made.splice(0)) rmSync(path);
});

/** Numbers of the frames, 30 a second, with which shots begin. */
const shotsOf = async (path: string, partSeconds = 60): Promise<number[]> => {
  const { video, facts } = await planFile(path);
  const source = { path, formatName: facts.formatName };
  const parts = planShotScores(video, partSeconds).map((part) => scoreShots({ ...part, source, threads: 1 }, silent));
  const times = findShots(joinScores(parts), video.timescale, video.boundaries.at(-1)!);
  return times.map((seconds) => Math.round(seconds * 30 * 100) / 100);
};
const shotsIn = (graph: string, partSeconds?: number, muxer?: 'mp4' | 'mpegts'): Promise<number[]> => {
  made.push(writeScenes(graph, muxer));
  return shotsOf(made.at(-1)!, partSeconds);
};

const { chart, fractal, bars, ramp, cells, dark } = scenes;
const CUTS = oneAfterAnother(chart(1.5), fractal(2), bars(0.7), ramp(3), cells(1), chart(2), bars(1));
const CUT_FRAMES = [0, 45, 105, 126, 216, 246, 306];

describe('cuts are found at the very frame', () => {
  test('whatever follows on what', async () => {
    expect(await shotsIn(CUTS)).toEqual(CUT_FRAMES);
  });

  test('when the asset is read in parts, of which some end beside a cut', async () => {
    for (const seconds of [1.5, 0.7]) expect(await shotsIn(CUTS, seconds)).toEqual(CUT_FRAMES);
  });

  test('in a transport stream, which has to be sought by bytes', async () => {
    expect(await shotsIn(CUTS, 3, 'mpegts')).toEqual(CUT_FRAMES);
  });

  test('to black and back', async () => {
    expect(await shotsIn(oneAfterAnother(chart(2), dark(1), fractal(2)))).toEqual([0, 60, 90]);
  });

  test('in noise', async () => {
    const noisy = (chain: string) => `${chain},noise=alls=40:allf=t:all_seed=1`;
    expect(await shotsIn(oneAfterAnother(noisy(fractal(2)), noisy(bars(2))))).toEqual([0, 60]);
  });
});

describe('no shot begins', () => {
  test.each([
    [
      'where the camera pans, nor where it begins to',
      'mandelbrot=size=1280x720:rate=30:start_scale=1:end_scale=0.99,trim=end_frame=1,' +
        "tpad=stop_mode=clone:stop_duration=6,crop=320:180:x='40+6*max(0,n-60)':y=200,format=yuv420p,setsar=1,trim=duration=6",
    ],
    [
      'where it zooms',
      'mandelbrot=size=320x180:rate=30:start_scale=2:end_scale=0.05:end_pts=150,trim=duration=5,format=yuv420p,setsar=1',
    ],
    [
      'at flashes of one and of three frames',
      `${fractal(5)},lutyuv=y='min(235,val+150)':enable='between(n,60,62)+between(n,110,110)'`,
    ],
    ['where light is switched on', `${fractal(4)},lutyuv=y='16+(val-16)*0.6':enable='lt(n,60)'`],
    ['in a frame that stands still', bars(3)],
  ])('%s', async (_, graph) => {
    expect(await shotsIn(graph)).toEqual([0]);
  });

  test.each(['h264-aac.mp4', 'vfr.mkv', 'interlaced-tff.ts'] satisfies EncodedName[])('in %s', async (name) => {
    expect(await shotsOf(await fixture(name))).toEqual([0]);
  });
});

describe('one shot begins', () => {
  test('in the middle of a dissolve', async () => {
    const graph = `${bars(3)}[a];${fractal(3)}[b];[a][b]xfade=transition=fade:duration=1:offset=2`;
    const [first, second, ...more] = await shotsIn(graph);
    expect([first, more]).toEqual([0, []]);
    expect(Math.abs(second! - 75)).toBeLessThanOrEqual(6);
  });

  test('between fading out and fading in', async () => {
    const graph = oneAfterAnother(`${chart(3)},fade=out:st=2:d=1`, `${fractal(3)},fade=in:st=0:d=1`);
    const [first, second, ...more] = await shotsIn(graph);
    expect([first, more]).toEqual([0, []]);
    expect(Math.abs(second! - 90)).toBeLessThanOrEqual(6);
  });

  test('of two cuts that are nearer than half a second', async () => {
    const found = await shotsIn(oneAfterAnother(chart(2), bars(0.3), fractal(2)));
    expect(found).toHaveLength(2);
    expect([60, 69]).toContain(found[1]);
  });
});

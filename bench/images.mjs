import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median, randomSource, ratio, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { cpuSecondsOf } from './support/processes.mjs';
import { ffmpeg } from './support/programs.mjs';

export const title = 'cold images, compared with the ffmpeg commands that make the same images';
export const needs = ['ffmpeg'];

const REPETITIONS = 5;

/**
 * Each kind of image: its URL at a given time, and the arguments of the equivalent ffmpeg command.
 */
const thumbnail = (path, out) => ({
  label: 'thumbnail 640x360',
  addressAt: (seconds) => `thumbnail.jpg?width=640&time=${seconds}`,
  argsAt: (seconds) => ['-ss', seconds, '-i', path, '-frames:v', '1', '-vf', 'scale=640:360', '-q:v', '3', out('jpg')],
});
const whole = (path, out) => ({
  label: 'thumbnail 1920x1080, PNG',
  addressAt: (seconds) => `thumbnail.png?time=${seconds}`,
  argsAt: (seconds) => ['-ss', seconds, '-i', path, '-frames:v', '1', out('png')],
});
const animation = (path, out) => ({
  label: 'animated GIF, 5 s, 320x180',
  addressAt: (seconds) => `animated.gif?start=${seconds}`,
  argsAt: (seconds) => {
    const palette = 'split[a][b];[a]palettegen[p];[b][p]paletteuse=dither=bayer:bayer_scale=5:diff_mode=rectangle';
    return ['-ss', seconds, '-t', '5', '-i', path, '-an', '-vf', `fps=15,scale=320:180,${palette}`, out('gif')];
  },
});
/** Each window covers almost the whole length and results in a new sprite sheet. */
const storyboard = (length, tiles, layout) => (path, out) => ({
  label: `storyboard, ${tiles} tiles`,
  addressAt: (_, number) => `storyboard.jpg?asset_start_time=${number}`,
  argsAt: () => {
    const filter = `fps=${tiles}/${length},scale=256:144,tile=${layout}`;
    return ['-skip_frame', 'nokey', '-i', path, '-an', '-frames:v', '1', '-vf', filter, '-q:v', '3', out('jpg')];
  },
});

export const run = async () => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-images-'));
  const server = await startKinora();
  const out = (extension) => join(directory, `out.${extension}`);
  const rows = [['image', 'of', 'Kinora', 'ffmpeg', 'Kinora / ffmpeg', 'again', 'CPU s', 'CPU s of ffmpeg']];
  try {
    for (const [length, kinds] of [
      [600, [thumbnail, whole, animation, storyboard(600, 50, '5x10')]],
      [7200, [thumbnail, storyboard(7200, 100, '10x10')]],
    ]) {
      const path = await movie(length);
      const origin = await startOrigin(path);
      const { playbackId } = await server.createAsset(origin.url);
      origin.stop();
      const random = randomSource(1);
      for (const kind of kinds) {
        const { label, addressAt, argsAt } = kind(path, out);
        const [ours, theirs, again, ourCpu, theirCpu] = [[], [], [], [], []];
        // The first round warms up files and processes.
        for (let i = -1; i < REPETITIONS; i++) {
          const seconds = (random((length - 20) * 100) + 500) / 100;
          const address = `/${playbackId}/${addressAt(seconds, i + 1)}`;
          await server.idle();
          const cpuSeconds = cpuSecondsOf(server.pid);
          const startedMs = performance.now();
          await server.get(address);
          const endedMs = performance.now();
          await server.get(address);
          const againMs = performance.now() - endedMs;
          const usedSeconds = cpuSecondsOf(server.pid) - cpuSeconds;
          const reference = await ffmpeg(...argsAt(String(seconds))).ended;
          if (i < 0) continue;
          ours.push(endedMs - startedMs);
          again.push(againMs);
          ourCpu.push(usedSeconds);
          theirs.push(reference.ms);
          theirCpu.push(reference.cpuSeconds);
        }
        const cells = [spread(ours), spread(theirs), ratio(ours, theirs), spread(again)];
        rows.push([label, `${length / 60} min`, ...cells, median(ourCpu).toFixed(2), median(theirCpu).toFixed(2)]);
      }
    }
  } finally {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
  console.log(`Milliseconds, median (min to max) of ${REPETITIONS} random positions, alternating\n`);
  table(rows);
};

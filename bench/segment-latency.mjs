import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median, randomSource, ratio, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { maxRates, scaleTo, x264 } from './support/ladder.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { readMedia, readMultivariant } from './support/playlist.mjs';
import { cpuSecondsOf } from './support/processes.mjs';
import { ffmpeg } from './support/programs.mjs';

export const title = 'a cold segment, compared with the ffmpeg command that encodes the same 4 s';
export const needs = ['ffmpeg'];

const REPETITIONS = 5;

export const run = async () => {
  const path = await movie(600);
  const origin = await startOrigin(path);
  const server = await startKinora();
  const directory = await mkdtemp(join(tmpdir(), 'kinora-segment-'));
  try {
    const out = join(directory, 'out.mp4');
    const fragment = ['-an', '-movflags', '+frag_keyframe+empty_moov+default_base_moof', '-f', 'mp4', out];
    const basic = await server.createAsset(origin.url);
    const { videos } = await readMultivariant(server, basic.playbackId);
    const rungs = videos.map((rung) => ({
      label: `${rung.height}p`,
      rendition: rung,
      // The video filter and the encoder settings of this rung, for 4 s.
      args: [
        '-vf',
        scaleTo(rung),
        '-c:v',
        'libx264',
        ...x264(maxRates[rung.height]),
        '-g',
        '9999',
        '-sc_threshold',
        '0',
      ],
    }));
    // Plus quality allows the bit rate of the source, so the top rung is a copy of its packets.
    const plus = await server.createAsset(origin.url, { video_quality: 'plus' });
    const copied = (await readMultivariant(server, plus.playbackId)).videos[0];
    rungs.push({ label: `${copied.height}p copied (plus)`, rendition: copied, args: ['-c:v', 'copy'] });
    console.log(
      `Milliseconds, median (min to max) of ${REPETITIONS} random positions, one viewer, alternating; CPU time in seconds\n`,
    );
    const rows = [['rung', 'Kinora', 'ffmpeg', 'Kinora / ffmpeg', 'share of play time', 'CPU s', 'CPU s of ffmpeg']];
    const random = randomSource(1);
    for (const { label, rendition, args } of rungs) {
      const { init, segments } = await readMedia(server, rendition);
      await server.get(init);
      const [ours, theirs, ourCpu, theirCpu] = [[], [], [], []];
      const places = segments.map((_, number) => number).slice(4, -1);
      for (let i = -1; i < REPETITIONS; i++) {
        const number = places[random(places.length)];
        // Read-ahead produces its neighbors, so they are no longer cold.
        for (let near = number - 3; near <= number + 3; near++)
          if (places.includes(near)) places.splice(places.indexOf(near), 1);
        const segment = segments[number];
        await server.idle();
        const cpu = cpuSecondsOf(server.pid);
        const startedMs = performance.now();
        await server.get(segment.path);
        const ms = performance.now() - startedMs;
        const cpuUsed = cpuSecondsOf(server.pid) - cpu;
        await server.idle();
        const reference = await ffmpeg(
          '-ss',
          String(segment.start),
          '-i',
          path,
          '-t',
          String(segment.seconds),
          ...args,
          ...fragment,
        ).ended;
        // The first round is a warm-up for both.
        if (i < 0) continue;
        ours.push(ms);
        theirs.push(reference.ms);
        ourCpu.push(cpuUsed);
        theirCpu.push(reference.cpuSeconds);
      }
      const share = ((100 * median(ours)) / 4000).toFixed(1);
      rows.push([
        label,
        spread(ours),
        spread(theirs),
        ratio(ours, theirs),
        `${share} %`,
        spread(ourCpu),
        spread(theirCpu),
      ]);
    }
    table(rows);
    const again = server
      .log()
      .split('\n')
      .filter((line) => line.includes('encoding again')).length;
    console.log(`\nSegments encoded again because they exceeded the declared rate of their rung: ${again}`);
  } finally {
    await server.stop();
    origin.stop();
    await rm(directory, { recursive: true });
  }
};

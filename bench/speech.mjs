import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeSpeech } from '../test/support/media/spoken-audio.mjs';
import { writeWhisperModel } from '../test/support/media/whisper-model.mjs';
import { median, randomSource, ratio, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { readMedia, readMultivariant } from './support/playlist.mjs';
import { backgroundCpuSecondsOf, cpuSecondsOf } from './support/processes.mjs';

export const title = 'speech recognition: CPU time per second of speech, and its effect on a viewer';
export const needs = ['ffmpeg'];

const REPETITIONS = 4;
/** A model with random words that takes as much work as "base": 6 layers of 512. */
const BASE = { state: 512, layers: 6 };
const SPEECH_SECONDS = 20;
const PERIOD_SECONDS = 30;
const WINDOWS = 3;

const spoken = (count) =>
  Array.from({ length: count }, (_, at) => ({
    startSeconds: at * PERIOD_SECONDS + 5,
    endSeconds: at * PERIOD_SECONDS + 5 + SPEECH_SECONDS,
  }));

const textTrack = (asset) => asset.tracks.filter(({ type }) => type === 'text').at(-1);

export const run = async () => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-speech-'));
  const model = process.env.KINORA_TEST_WHISPER_MODEL ?? join(directory, 'model.bin');
  if (model !== process.env.KINORA_TEST_WHISPER_MODEL) writeWhisperModel(model, BASE);
  const short = join(directory, 'short.wav');
  await writeFile(short, makeSpeech(WINDOWS * PERIOD_SECONDS, spoken(WINDOWS)));
  const long = join(directory, 'long.wav');
  await writeFile(long, makeSpeech(20 * PERIOD_SECONDS, spoken(20)));
  const origins = [await startOrigin(await movie(600)), await startOrigin(short), await startOrigin(long)];
  const server = await startKinora({ options: { SPEECH_MODEL: model } });
  try {
    const film = await server.createAsset(origins[0].url);
    const talk = await server.createAsset(origins[2].url);
    await server.idle();
    const before = cpuSecondsOf(server.pid);
    const asset = await server.createAsset(origins[1].url, {
      inputs: [{ url: origins[1].url, generated_subtitles: [{}] }],
    });
    for (;;) {
      const { status } = textTrack(await server.api('GET', `/assets/${asset.id}`));
      if (status === 'errored') throw new Error(`recognition failed: ${server.log().slice(-2000)}`);
      if (status === 'ready') break;
      await delay(200);
    }
    await server.idle();
    const cpu = cpuSecondsOf(server.pid) - before;
    const seconds = WINDOWS * SPEECH_SECONDS;
    console.log(
      `One thread: ${(cpu / WINDOWS).toFixed(1)} CPU s per window, ${(cpu / seconds).toFixed(2)} CPU s per second of speech, ` +
        `${(cpu / (WINDOWS * PERIOD_SECONDS)).toFixed(2)} per second of the track (decoding and speech detection included)\n`,
    );

    const { videos } = await readMultivariant(server, film.playbackId);
    const rung = videos.find(({ height }) => height === 720) ?? videos[0];
    const { init, segments } = await readMedia(server, rung);
    await server.get(init);
    const random = randomSource(1);
    const places = segments.map((_, number) => number).slice(4, -1);
    const segmentMs = async () => {
      const number = places[random(places.length)];
      // Read-ahead produces its neighbors, so they are no longer cold.
      for (let near = number - 3; near <= number + 3; near++)
        if (places.includes(near)) places.splice(places.indexOf(near), 1);
      const startedMs = performance.now();
      await server.get(segments[number].path);
      return performance.now() - startedMs;
    };
    const audio = talk.tracks.find(({ type }) => type === 'audio');
    const [alone, beside, meanwhile] = [[], [], []];
    for (let i = -1; i < REPETITIONS; i++) {
      await server.idle();
      const aloneMs = await segmentMs();
      await server.idle();
      const path = `/assets/${talk.id}/tracks/${audio.id}/generate-subtitles`;
      const [track] = await server.api('POST', path, { generated_subtitles: [{ name: `run ${i}` }] });
      const cpuBefore = cpuSecondsOf(server.pid);
      // Wait until the model is loaded and running.
      while (cpuSecondsOf(server.pid) - cpuBefore < 3) await delay(20);
      const taken = backgroundCpuSecondsOf(server.pid);
      const besideMs = await segmentMs();
      const takenMeanwhile = backgroundCpuSecondsOf(server.pid) - taken;
      await server.api('DELETE', `/assets/${talk.id}/tracks/${track.id}`);
      // The first round is a warm-up for both.
      if (i < 0) continue;
      alone.push(aloneMs);
      beside.push(besideMs);
      meanwhile.push(takenMeanwhile * 1000);
    }
    table([
      ['a cold segment of 4 s, 720p', 'ms'],
      ['without recognition', spread(alone)],
      ['during recognition', spread(beside)],
      ['ratio (target: 1.15 at most)', ratio(beside, alone)],
      ['CPU time of recognition during the segment', spread(meanwhile)],
    ]);
    console.log(`\nRatio of the medians: ${(median(beside) / median(alone)).toFixed(2)}`);
  } finally {
    await server.stop();
    for (const origin of origins) origin.stop();
    await rm(directory, { recursive: true });
  }
};

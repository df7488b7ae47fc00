import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { makeSpeech } from '../test/support/media/spoken-audio.mjs';
import { table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { startOrigin } from './support/origin.mjs';
import { memoryOf } from './support/processes.mjs';

export const title = 'memory over time during speech recognition of two hours';
export const needs = ['ffmpeg'];

const HOURS = 2;
/** Repeated over the whole file: 80 of 120 seconds contain speech. */
const BLOCK_SECONDS = 120;
const SPOKEN = [5, 30, 60, 95].map((startSeconds) => ({ startSeconds, endSeconds: startSeconds + 20 }));
const WORDS_A_WINDOW = 75;
const EVERY_MS = 200;
/** Positions in hours at which both the search for speech and its recognition are reported. */
const PLACES = [0.25, 0.5, 1, 1.5, 2];

const makeTalk = async (directory) => {
  const block = join(directory, 'block.wav');
  const talk = join(directory, 'talk.m4a');
  await writeFile(block, makeSpeech(BLOCK_SECONDS, SPOKEN));
  const input = ['-stream_loop', '-1', '-i', block, '-t', String(HOURS * 3600)];
  await promisify(execFile)('ffmpeg', ['-v', 'error', ...input, '-ar', '48000', '-c:a', 'aac', '-b:a', '64k', talk]);
  return talk;
};

/**
 * Answers immediately, with words over the whole window, so that only the server's own memory is
 * measured.
 */
const makeRecognizer = async (directory) => {
  const response = join(directory, 'answer.json');
  const words = Array.from({ length: WORDS_A_WINDOW }, (_, at) => ({
    word: ` word${at}`,
    start: at * 0.38,
    end: at * 0.38 + 0.3,
  }));
  await writeFile(response, JSON.stringify({ words }));
  const program = join(directory, 'recognizer');
  await writeFile(program, `#!/bin/sh\ncat ${response}\n`);
  await chmod(program, 0o755);
  return `${program} {audio}`;
};

export const run = async () => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-speech-memory-'));
  const origin = await startOrigin(await makeTalk(directory));
  const server = await startKinora({ options: { SPEECH_COMMAND: await makeRecognizer(directory) } });
  try {
    await server.idle();
    const idle = memoryOf(server.pid);
    const asset = await server.createAsset(origin.url);
    const audio = asset.tracks.find(({ type }) => type === 'audio');
    const [{ id }] = await server.api('POST', `/assets/${asset.id}/tracks/${audio.id}/generate-subtitles`, {
      generated_subtitles: [{}],
    });
    const rows = [];
    let peak = { server: 0, media: 0 };
    const note = (what) => {
      rows.push([what, peak.server.toFixed(0), peak.media.toFixed(0)]);
      peak = { server: 0, media: 0 };
    };
    const stages = [
      ...PLACES.map((hour) => [`search, hour ${hour}`, (hour / HOURS) * 10]),
      ...PLACES.map((hour) => [`recognition, hour ${hour}`, 10 + (hour / HOURS) * 90]),
    ];
    for (;;) {
      const now = memoryOf(server.pid);
      peak = { server: Math.max(peak.server, now.server), media: Math.max(peak.media, now.media) };
      const track = (await server.api('GET', `/assets/${asset.id}`)).tracks.find((each) => each.id === id);
      if (track.status === 'errored') throw new Error(`recognition failed: ${server.log().slice(-2000)}`);
      if (track.status === 'ready') break;
      while (stages.length > 1 && (track.progress ?? 0) >= stages[0][1]) note(stages.shift()[0]);
      await delay(EVERY_MS);
    }
    note('until the end, including cues');
    console.log(`Peak since the previous row in MB (proportional set size, every ${EVERY_MS} ms)\n`);
    table([['', 'server', 'media processes'], ['idle', idle.server.toFixed(0), idle.media.toFixed(0)], ...rows]);
  } finally {
    await server.stop();
    origin.stop();
    await rm(directory, { recursive: true });
  }
};

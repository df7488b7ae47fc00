import { table } from './support/figures.mjs';
import { comparison, measureInTurn } from './support/in-turn.mjs';
import { startKinora } from './support/kinora.mjs';
import { load } from './support/load.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { listSegments } from './support/playlist.mjs';
import { ownCpuSecondsOf } from './support/processes.mjs';
import { signToken } from './support/signing.mjs';

export const title =
  'small cached segments of a signed playback id on 16 connections, compared with those of a public id';
export const needs = ['ffmpeg'];

const REPETITIONS = 21;
const SECONDS = 1;

/**
 * URLs of the audio files. They are the smallest, so the cost of a response apart from its bytes is
 * visible.
 */
const audioOf = async (kinora, master) => {
  const text = String(await kinora.get(master));
  return listSegments(kinora, new URL(/TYPE=AUDIO.*URI="([^"]+)"/.exec(text)[1], new URL(master, kinora.url)));
};

export const run = async () => {
  const origin = await startOrigin(await movie(60));
  const kinora = await startKinora();
  try {
    const asset = await kinora.createAsset(origin.url, { playback_policies: ['public', 'signed'] });
    const idOf = (policy) => asset.playback_ids.find((playbackId) => playbackId.policy === policy).id;
    const token = signToken(idOf('signed'), await kinora.api('POST', '/signing-keys'));
    const open = await audioOf(kinora, `/${idOf('public')}.m3u8`);
    const signed = await audioOf(kinora, `/${idOf('signed')}.m3u8?token=${token}`);
    let bytes = 0;
    for (const path of open) bytes += (await kinora.get(path)).length;
    await kinora.idle();
    const measure = async (paths) => {
      const cpu = ownCpuSecondsOf(kinora.pid);
      const result = await load(kinora.url, paths, { seconds: SECONDS });
      const requests = result.requestsPerSecond * SECONDS;
      return { ...result, cpuPerRequest: ((ownCpuSecondsOf(kinora.pid) - cpu) * 1e6) / requests };
    };
    const results = await measureInTurn(REPETITIONS, measure, signed, open);
    console.log(
      `${open.length} segments of audio, ${(bytes / open.length / 1e3).toFixed(0)} kB on average; median (min to max) of ${REPETITIONS} x ${SECONDS} s, alternating; the load generator shares the cores\n`,
    );
    table([
      ['', 'signed', 'public', 'signed / public'],
      comparison(results, 'segments/s', 'requestsPerSecond'),
      comparison(results, 'CPU microseconds per segment', 'cpuPerRequest'),
    ]);
  } finally {
    await kinora.stop();
    origin.stop();
  }
};

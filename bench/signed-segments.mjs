import { createPrivateKey, sign } from 'node:crypto';
import { ratio, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { load } from './support/load.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { ownCpuSecondsOf } from './support/processes.mjs';

export const title =
  'small cached segments of a signed playback id on 16 connections, beside the same ones of a public id';
export const needs = ['ffmpeg'];

const REPETITIONS = 21;
const SECONDS = 1;

const signToken = (playbackId, { id, private_key }) => {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { kid: id, sub: playbackId, aud: 'v', exp: Math.floor(Date.now() / 1000) + 3600 };
  const input = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`;
  const pem = Buffer.from(private_key, 'base64').toString();
  return `${input}.${sign('sha256', Buffer.from(input), createPrivateKey(pem)).toString('base64url')}`;
};

/** Addresses of the audio's files: the smallest there are, so that what an answer costs besides its bytes shows. */
const audioOf = async (kinora, master) => {
  const text = String(await kinora.get(master));
  const playlist = new URL(/TYPE=AUDIO.*URI="([^"]+)"/.exec(text)[1], new URL(master, kinora.url));
  const lines = String(await kinora.get(playlist.href)).split('\n');
  return lines
    .filter((line) => line && !line.startsWith('#'))
    .map((line) => {
      const { pathname, search } = new URL(line, playlist);
      return pathname + search;
    });
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
    const [withSignature, without] = [[], []];
    for (let i = -1; i < REPETITIONS; i++) {
      const [a, b] = [await measure(signed), await measure(open)];
      if (i < 0) continue;
      withSignature.push(a);
      without.push(b);
    }
    console.log(
      `${open.length} segments of audio, ${(bytes / open.length / 1e3).toFixed(0)} kB on average; median (min to max) of ${REPETITIONS} x ${SECONDS} s, in turn; the load comes from the same cores\n`,
    );
    const row = (label, field) => {
      const [a, b] = [withSignature, without].map((results) => results.map((result) => result[field]));
      return [label, spread(a), spread(b), ratio(a, b)];
    };
    table([
      ['', 'signed', 'public', 'signed / public'],
      row('segments/s', 'requestsPerSecond'),
      row('CPU microseconds per segment', 'cpuPerRequest'),
    ]);
  } finally {
    await kinora.stop();
    origin.stop();
  }
};

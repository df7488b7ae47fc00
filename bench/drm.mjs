import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { table } from './support/figures.mjs';
import { comparison, measureInTurn } from './support/in-turn.mjs';
import { startKinora } from './support/kinora.mjs';
import { load } from './support/load.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { listSegments } from './support/playlist.mjs';
import { ownCpuSecondsOf } from './support/processes.mjs';
import { signToken } from './support/signing.mjs';

export const title = 'cached segments of a DRM playback id on 16 connections, compared with those of a public id';
export const needs = ['ffmpeg'];

const REPETITIONS = 9;
const SECONDS = 2;
const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

/** URLs of the segments of the largest rendition. */
const largestOf = async (kinora, master) => {
  const lines = String(await kinora.get(master)).split('\n');
  const variants = lines.flatMap((line, index) => {
    const height = /^#EXT-X-STREAM-INF:.*RESOLUTION=\d+x(\d+)/.exec(line)?.[1];
    return height ? [{ height: Number(height), uri: lines[index + 1] }] : [];
  });
  const [{ uri }] = variants.sort((a, b) => b.height - a.height);
  return listSegments(kinora, new URL(uri, new URL(master, kinora.url)));
};

export const run = async () => {
  const origin = await startOrigin(await movie(60));
  // Both forms of all segments take slightly more than the default of 64 MiB.
  const kinora = await startKinora({ options: { HOT_SIZE: '128MiB' } });
  try {
    const configuration = execFileSync(
      process.execPath,
      [main, 'drm', 'create', '--name', 'bench', '--key-source', 'local'],
      { encoding: 'utf8', env: { PATH: process.env.PATH, KINORA_DATA_DIR: kinora.dataDir } },
    ).trim();
    // With plus quality the top rung is copied: 2.3 MB per segment, a typical size for 1080p.
    const asset = await kinora.createAsset(origin.url, {
      video_quality: 'plus',
      advanced_playback_policies: [{ policy: 'drm', drm_configuration_id: configuration }],
    });
    const idOf = (policy) => asset.playback_ids.find((playbackId) => playbackId.policy === policy).id;
    const token = signToken(idOf('drm'), await kinora.api('POST', '/signing-keys'));
    const open = await largestOf(kinora, `/${idOf('public')}.m3u8`);
    const encrypted = await largestOf(kinora, `/${idOf('drm')}.m3u8?token=${token}`);
    let bytes = 0;
    for (const path of open) bytes += (await kinora.get(path)).length;
    for (const path of encrypted) await kinora.get(path);
    await kinora.idle();
    const measure = async (paths) => {
      const cpu = ownCpuSecondsOf(kinora.pid);
      const result = await load(kinora.url, paths, { seconds: SECONDS });
      return { ...result, cpuPerGigabyte: ((ownCpuSecondsOf(kinora.pid) - cpu) * 1e9) / result.bytes };
    };
    const results = await measureInTurn(REPETITIONS, measure, encrypted, open);
    console.log(
      `${open.length} segments of ${(bytes / open.length / 1e6).toFixed(1)} MB on average; median (min to max) of ${REPETITIONS} x ${SECONDS} s, alternating; the load generator shares the cores\n`,
    );
    table([
      ['', 'encrypted', 'clear', 'encrypted / clear'],
      comparison(results, 'GB/s', 'gigabytesPerSecond'),
      comparison(results, 'CPU seconds per GB', 'cpuPerGigabyte'),
    ]);
  } finally {
    await kinora.stop();
    origin.stop();
  }
};

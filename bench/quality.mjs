import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { percent, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { scaleTo } from './support/ladder.mjs';
import { QUALITY_SECONDS, qualitySource } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { readMedia, readMultivariant } from './support/playlist.mjs';
import { ffmpeg } from './support/programs.mjs';

export const title =
  'basic, plus and premium quality on easy and hard content, compared with one x264 encode of the same size';
export const needs = ['ffmpeg'];

const RUNG = 720;
const QUALITIES = ['basic', 'plus', 'premium'];
const PRESETS = { basic: 'veryfast', plus: 'veryfast', premium: 'faster' };
const CONTENTS = ['easy', 'medium', 'texture', 'hard'];
/**
 * Segment length in frames. The first `JOIN_FRAMES` of each segment are measured separately, also
 * in the reference.
 */
const SEGMENT_FRAMES = 120;
const JOIN_FRAMES = 15;
const LINES_KILOBITS = [500, 1000, 2000, 4000, 6000];

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const numbersIn = (text, pattern) => Array.from(text.matchAll(pattern), (match) => Number(match[1]));

const decibels = (errors) => 10 * Math.log10(255 ** 2 / mean(errors));
const signed = (value, digits) => `${value < 0 ? '' : '+'}${value.toFixed(digits)}`;

/**
 * PSNR (dB, from the mean error of all planes) and SSIM of a file compared with the source at the
 * same size. `join` is the PSNR of the first half second of each segment minus that of the other
 * frames.
 */
const compare = async (directory, file, source, rung) => {
  const [psnr, ssim] = ['psnr', 'ssim'].map((name) => join(directory, `${name}.txt`));
  const chain = [
    `[1:v]${scaleTo(rung)},split[a][b]`,
    '[0:v]split[c][d]',
    `[c][a]psnr=stats_file=${psnr}:shortest=1[x]`,
    `[d][b]ssim=stats_file=${ssim}:shortest=1[y]`,
  ].join(';');
  const outputs = ['-map', '[x]', '-f', 'null', '-', '-map', '[y]', '-f', 'null', '-'];
  await ffmpeg('-i', file, '-i', source, '-lavfi', chain, ...outputs).ended;
  const errors = numbersIn(await readFile(psnr, 'utf8'), /mse_avg:([\d.]+)/g);
  const isAfterJoin = (_, frame) => frame % SEGMENT_FRAMES < JOIN_FRAMES;
  const others = errors.filter((...frame) => !isAfterJoin(...frame));
  return {
    psnr: decibels(errors),
    join: decibels(errors.filter(isAfterJoin)) - decibels(others),
    ssim: mean(numbersIn(await readFile(ssim, 'utf8'), /All:([\d.]+)/g)),
  };
};

/**
 * Encodes all segments in one file: two-pass x264 with the same size, preset and key frame
 * positions.
 */
const encodeReference = async (directory, source, rung, { kilobits, preset }) => {
  const path = join(directory, 'reference.mp4');
  const log = join(directory, 'pass');
  for (const pass of ['1', '2']) {
    const keys = ['-g', `${SEGMENT_FRAMES}`, '-keyint_min', `${SEGMENT_FRAMES}`, '-sc_threshold', '0'];
    const rate = ['-b:v', `${Math.round(kilobits)}k`, '-pass', pass, '-passlogfile', log];
    const settings = ['-c:v', 'libx264', '-preset', preset, '-profile:v', 'high', '-bf', '2', '-pix_fmt', 'yuv420p'];
    await ffmpeg('-i', source, '-an', '-vf', scaleTo(rung), ...settings, ...keys, ...rate, path).ended;
  }
  return path;
};

const measure = async (server, directory, origin, source, quality) => {
  const asset = await server.createAsset(origin.url, { video_quality: quality });
  const { videos } = await readMultivariant(server, asset.playbackId);
  const rung = videos.find(({ height }) => height === RUNG);
  const { init, segments } = await readMedia(server, rung);
  const parts = [];
  for (const { path } of segments) parts.push(Buffer.from(await server.get(path)));
  const played = join(directory, 'played.mp4');
  await writeFile(played, Buffer.concat([Buffer.from(await server.get(init)), ...parts]));
  const kilobits = (parts.reduce((sum, { length }) => sum + length, 0) * 8) / 1000 / QUALITY_SECONDS;
  const ours = await compare(directory, played, source, rung);
  const reference = await encodeReference(directory, source, rung, { kilobits, preset: PRESETS[quality] });
  const theirs = await compare(directory, reference, source, rung);
  await server.api('DELETE', `/assets/${asset.id}`);
  await server.idle();
  const kilobitsThere = ((await stat(reference)).size * 8) / 1000 / QUALITY_SECONDS;
  return { videos, promised: rung.bandwidth / 1000, kilobits, kilobitsThere, ours, theirs };
};

/** The largest frame whose declared rate fits the line, as a label. */
const chosen = (videos, kilobits) => {
  const fitting = videos.filter(({ bandwidth }) => bandwidth <= kilobits * 1000);
  return `${(fitting[0] ?? videos.at(-1)).height}p`;
};

export const run = async () => {
  const server = await startKinora();
  const directory = await mkdtemp(join(tmpdir(), 'kinora-quality-'));
  const rows = [
    [
      `${RUNG}p of ${QUALITY_SECONDS} s`,
      'quality',
      'declared, kb/s',
      'kb/s',
      'PSNR, dB',
      'SSIM',
      'size of x264',
      'PSNR minus x264, dB',
      'SSIM minus x264',
      'after joins, dB',
      'after joins, x264, dB',
    ],
  ];
  const choices = [['largest frame for a line of', 'quality', ...LINES_KILOBITS.map((line) => `${line} kb/s`)]];
  try {
    for (const content of CONTENTS) {
      const source = await qualitySource(content);
      const origin = await startOrigin(source);
      for (const quality of QUALITIES) {
        const { videos, ours, theirs, ...found } = await measure(server, directory, origin, source, quality);
        rows.push([
          content,
          quality,
          found.promised.toFixed(0),
          found.kilobits.toFixed(0),
          ours.psnr.toFixed(2),
          ours.ssim.toFixed(4),
          percent(found.kilobitsThere / found.kilobits),
          signed(ours.psnr - theirs.psnr, 2),
          signed(ours.ssim - theirs.ssim, 4),
          signed(ours.join, 2),
          signed(theirs.join, 2),
        ]);
        choices.push([content, quality, ...LINES_KILOBITS.map((line) => chosen(videos, line))]);
      }
      origin.stop();
    }
  } finally {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
  table(rows);
  console.log('');
  table(choices);
};

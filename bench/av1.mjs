import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { indexSource } from '../dist/engine/analysis/index-source.js';
import { probe } from '../dist/engine/analysis/probe.js';
import { writeVideoSegment } from '../dist/engine/video/segment.js';
import { encodeVideoConfig } from '../dist/engine/video/video-config.js';
import { BT709, writeVideoInit } from '../dist/media/mp4/cmaf.js';
import { withAv1 } from '../dist/media/plan/av1-ladder.js';
import { planAsset } from '../dist/media/plan/plan-asset.js';
import { decodeSourceIndex } from '../dist/media/source/source-index-codec.js';
import { videoConfigJob, videoSegmentJob } from '../dist/packager/segment-jobs.js';
import { percent, table } from './support/figures.mjs';
import { scaleTo } from './support/ladder.mjs';
import { qualitySource } from './support/media.mjs';
import { ffmpeg, start } from './support/programs.mjs';

export const title = 'bytes and CPU of AV1 segments for the quality of H.264 ones, and when they have paid';
export const needs = ['ffmpeg'];

// Errors alone: as in media processes.
process.env.SVT_LOG = '1';

/** Files with real footage, separated by commas; otherwise generated content. */
const FILES = process.env.BENCH_AV1_FILES?.split(',');
/** An ffprobe with libvmaf, which Debian's lacks; without one, VMAF is not measured. */
const VMAF_FFPROBE = process.env.BENCH_VMAF_FFPROBE;
const CONTENTS = ['easy', 'medium', 'texture', 'hard'];
const RUNGS = ['480p', '720p', '1080p'];
const SEGMENT = 1;
/** CRF beside the one of the ladder at which quality is measured. */
const CRF_STEPS = [-6, 0, 6, 12];
/** $ per vCPU hour and per GB. */
const PRICES = { cpuHour: 0.03, gigabyte: 0.01 };
const SSIM = /All:([\d.]+)/g;

const planFile = async (path, folder, quality) => {
  const limits = { maxPixels: 8192 * 4352, maxStreams: 64 };
  const facts = await probe({ kind: 'probe', source: { path }, ...limits });
  const outPath = join(folder, 'index');
  const source = { path, formatName: facts.formatName };
  indexSource(
    { kind: 'index', source, videoStreamIndex: facts.video.streamIndex, outPath },
    { progress: () => undefined },
  );
  const index = decodeSourceIndex(readFileSync(outPath));
  const settings = { quality, maxResolutionTier: '1080p', isTest: false };
  return { ...withAv1(planAsset({ facts, index, settings })).video, matrix: matrixOf(facts.video) };
};

/** As segments are made: untagged video is BT.709 in high definition and BT.601 otherwise. */
const matrixOf = ({ color, height }) => {
  if (color.matrix !== 'unknown') return color.matrix;
  return height >= 720 ? 'bt709' : 'smpte170m';
};

/** VMAF (model v0.6.1) of a file against a part of the source, in the size of the rung. */
const measureVmaf = async (folder, played, path, referenceChain) => {
  const log = join(folder, 'vmaf.json');
  const graph = [
    `movie='${path}',${referenceChain}[a]`,
    `movie='${played}':format_opts=ignore_editlist=1,setpts=PTS-STARTPTS[b]`,
    `[b][a]libvmaf=log_fmt=json:log_path=${log}:shortest=1`,
  ].join(';');
  await start(VMAF_FFPROBE, ['-v', 'error', '-f', 'lavfi', '-count_frames', graph]).ended;
  return JSON.parse(await readFile(log, 'utf8')).pooled_metrics.vmaf.mean;
};

/**
 * Encodes the segment; its size, its CPU time, and its SSIM (in decibels) and VMAF against the
 * source.
 */
const measure = async (folder, path, video, rendition, encoder) => {
  const outPath = join(folder, 'segment.m4s');
  const before = process.cpuUsage();
  const job = videoSegmentJob(video, rendition, SEGMENT, { source: { path }, overlayPaths: [], outPath, encoder });
  await writeVideoSegment(job);
  const { user, system } = process.cpuUsage(before);
  const record = Buffer.from(encodeVideoConfig(videoConfigJob(video, rendition, encoder)).avcc, 'base64');
  const { width, height, reorderTicks } = rendition;
  const track = { timescale: video.timescale, width, height, reorderTicks };
  const init = writeVideoInit({
    ...track,
    ...(encoder.codec === 'av1' ? { codec: 'av1', config: record, nclx: BT709 } : { avcc: record, color: 'bt709' }),
  });
  const bytes = readFileSync(outPath);
  const played = join(folder, 'played.mp4');
  writeFileSync(played, Buffer.concat([init, bytes]));
  const [from, to] = [SEGMENT, SEGMENT + 1].map((boundary) => video.boundaries[boundary] / video.timescale);
  const stats = join(folder, 'ssim.txt');
  const referenceChain = [
    `trim=${from - 0.001}:${to - 0.001},setpts=PTS-STARTPTS,setparams=colorspace=${video.matrix}`,
    `${scaleTo({ width, height })}:out_color_matrix=bt709:out_range=tv,format=yuv420p`,
  ].join(',');
  const chain = [
    `[1:v]${referenceChain}[a]`,
    '[0:v]setpts=PTS-STARTPTS[b]',
    `[b][a]ssim=stats_file=${stats}:shortest=1`,
  ].join(';');
  await ffmpeg('-ignore_editlist', '1', '-i', played, '-i', path, '-lavfi', chain, '-f', 'null', '-').ended;
  const all = Array.from((await readFile(stats, 'utf8')).matchAll(SSIM), (match) => Number(match[1]));
  const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
  return {
    bytes: bytes.length,
    seconds: to - from,
    cpu: (user + system) / 1e6,
    decibels: -10 * Math.log10(1 - mean),
    vmaf: VMAF_FFPROBE && (await measureVmaf(folder, played, path, referenceChain)),
  };
};

/**
 * Where a value lies between points where `quality` (`decibels` or `vmaf`) is that of a reference;
 * logarithmic, as rates are.
 */
const interpolate = (points, reference, quality, read) => {
  const wanted = reference[quality];
  const sorted = [...points].sort((a, b) => a[quality] - b[quality]);
  const next = Math.min(
    Math.max(
      sorted.findIndex((point) => point[quality] >= wanted),
      1,
    ),
    sorted.length - 1,
  );
  const [low, high] = [sorted[next - 1], sorted[next]];
  const share = (wanted - low[quality]) / (high[quality] - low[quality]);
  return Math.exp(Math.log(read(low)) + share * (Math.log(read(high)) - Math.log(read(low))));
};

export const run = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-av1-'));
  const heads = ['content', 'rung', 'H.264, kb/s', 'AV1, kb/s', 'SSIM minus H.264, dB', 'bytes for equal SSIM'];
  const vmafHeads = VMAF_FFPROBE ? ['VMAF minus H.264', 'bytes for equal VMAF'] : [];
  const rows = [[...heads, 'CRF for equal SSIM', ...vmafHeads, 'CPU beside H.264', 'views until paid']];
  try {
    const quality = process.env.BENCH_AV1_QUALITY ?? 'basic';
    const sources = FILES ?? (await Promise.all(CONTENTS.map(qualitySource)));
    for (const [position, path] of sources.entries()) {
      const video = await planFile(path, folder, quality);
      for (const rung of RUNGS) {
        const h264 = video.renditions.find(({ name, encoder }) => name === rung && encoder);
        if (!h264) continue;
        const av1 = video.av1.find(({ name }) => name === `av1-${rung}`);
        const reference = await measure(folder, path, video, h264, h264.encoder);
        const points = [];
        for (const step of CRF_STEPS) {
          const encoder = { ...av1.encoder, crf: av1.encoder.crf + step };
          points.push({ ...(await measure(folder, path, video, av1, encoder)), crf: encoder.crf });
        }
        const own = points.find(({ crf }) => crf === av1.encoder.crf);
        const equalBytes = (measured) =>
          percent(interpolate(points, reference, measured, ({ bytes }) => bytes) / reference.bytes);
        const kilobits = ({ bytes, seconds }) => ((bytes * 8) / 1000 / seconds).toFixed(0);
        const saved = ((reference.bytes - own.bytes) / 1e9) * PRICES.gigabyte;
        rows.push([
          FILES ? `file ${position + 1}` : CONTENTS[position],
          rung,
          kilobits(reference),
          kilobits(own),
          (own.decibels - reference.decibels).toFixed(2),
          equalBytes('decibels'),
          interpolate(points, reference, 'decibels', ({ crf }) => crf).toFixed(1),
          ...(VMAF_FFPROBE ? [(own.vmaf - reference.vmaf).toFixed(2), equalBytes('vmaf')] : []),
          (own.cpu / reference.cpu).toFixed(1),
          saved > 0 ? (((own.cpu / 3600) * PRICES.cpuHour) / saved).toFixed(1) : '-',
        ]);
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  table(rows);
};

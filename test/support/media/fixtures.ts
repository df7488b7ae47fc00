/**
 * The one recipe file of test media. `fixture(name)` returns the path of a file that is generated
 * on first use and kept in a cache directory under a name that changes with the recipe. Frames
 * carry a 16-bit counter (`measure.ts` reads it), flash and beep mark every full second, and each
 * channel holds a continuous tone (`CHANNEL_TONES`).
 */
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeMedia } from './fixture-media.js';
import type { AudioRecipe, MediaRecipe, VideoRecipe } from './fixture-recipe.js';
import {
  amrFile,
  vp6Flv,
  withItunesPriming,
  withoutAviIndex,
  withoutSyncTable,
  withUnknownCodec,
  withUnmarkedStart,
  writeAmr3gp,
  writeImageFirst,
  writeTwoVideos,
} from './unusual-files.js';
import { unusual } from './unusual-recipes.js';
import { withLateFrame, withWrongTimes } from './wrong-times.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const directory = join(root, 'node_modules', '.cache', 'kinora-fixtures');

const SECONDS = 6;

const small = { width: 320, height: 180, rate: [30, 1] } as const;
const x264 = { preset: 'veryfast', crf: '23', 'x264-params': 'scenecut=0:open-gop=0:threads=1' };
const x265 = { preset: 'ultrafast', crf: '25', 'x265-params': 'log-level=none:pools=none:frame-threads=1:open-gop=0' };
const h264: VideoRecipe = { ...small, encoder: 'libx264', options: x264, gop: 60, bFrames: 2 };
const hevc: VideoRecipe = { ...small, encoder: 'libx265', options: x265, gop: 60, bFrames: 2 };
const vp9: VideoRecipe = {
  ...small,
  encoder: 'libvpx-vp9',
  options: { deadline: 'realtime', 'cpu-used': '8', crf: '30' },
  bitRate: 0,
  gop: 60,
};
const av1: VideoRecipe = { ...small, encoder: 'libsvtav1', options: { preset: '12', crf: '35' }, gop: 60 };
const NOISE = 'noise=alls=25:allf=t,format=yuv420p';
/** Many bytes, which take little time to encode. */
const noise = { filter: NOISE, options: { ...x264, preset: 'ultrafast', crf: '27' } };
const noisyH264: VideoRecipe = {
  ...h264,
  rate: [10, 1],
  gop: 20,
  filter: NOISE,
  options: { ...noise.options, crf: '29' },
};
const aac: AudioRecipe = { encoder: 'aac', sampleRate: 48000, channels: 2, bitRate: 128_000 };
const mp3: AudioRecipe = { encoder: 'libmp3lame', sampleRate: 44100, channels: 2, bitRate: 128_000 };
const opus: AudioRecipe = { encoder: 'libopus', sampleRate: 48000, channels: 2, bitRate: 96_000 };
const flac: AudioRecipe = { encoder: 'flac', sampleRate: 48000, channels: 2 };
const pcm: AudioRecipe = { encoder: 'pcm_s16le', sampleRate: 48000, channels: 2 };
const ac3: AudioRecipe = { encoder: 'ac3', sampleRate: 48000, channels: 2, bitRate: 192_000 };
const vorbis: AudioRecipe = { encoder: 'libvorbis', sampleRate: 48000, channels: 2, bitRate: 128_000 };

const mp4 = { muxer: 'mp4', seconds: SECONDS } as const;
const mkv = { muxer: 'matroska', seconds: SECONDS } as const;
const ts = { muxer: 'mpegts', seconds: SECONDS } as const;
const faststart = { movflags: '+faststart' };
// Peak white of the SDR frame becomes 203 cd/m2, the reference white of ITU-R BT.2408.
const hdr = (name: 'pq' | 'hlg'): VideoRecipe => ({
  ...hevc,
  hdr: name,
  filter:
    'zscale=t=linear:npl=203,format=gbrpf32le,' +
    `zscale=t=${name === 'pq' ? 'smpte2084' : 'arib-std-b67'}:m=2020_ncl:p=2020:r=limited:npl=203,format=yuv420p10le`,
  tag: 'hvc1',
});

const pannedTexture = [
  'lutyuv=y=128',
  ...[
    [40, 22, 80],
    [80, 44, 60],
    [160, 90, 40],
    [320, 180, 20],
  ].map(([width, height, noise]) => `scale=${width}:${height}:flags=bicubic,noise=alls=${noise}`),
  'scroll=h=0.0125:v=0.006,format=yuv420p',
].join(',');

/** Recipes that encode; the extension is what a user's file would have. */
const encoded = {
  // Codecs and containers.
  // Large enough that parts of them are read by themselves.
  'long-index-first.mp4': {
    ...mp4,
    seconds: 24,
    muxerOptions: faststart,
    video: noisyH264,
    audio: aac,
  },
  'long-h264-aac.mkv': {
    ...mkv,
    seconds: 24,
    video: { ...h264, ...noise },
    audio: aac,
  },
  'long-29.97.mkv': { ...mkv, seconds: 44, video: { ...h264, rate: [30000, 1001] }, audio: mp3 },
  'long-23.976-opus.mkv': {
    ...mkv,
    seconds: 40,
    offsetSeconds: 0.5,
    video: { ...hevc, rate: [24000, 1001] },
    audio: opus,
  },
  'long-vp9-opus.webm': {
    muxer: 'webm',
    seconds: 24,
    video: { ...vp9, rate: [10, 1], gop: 20, filter: NOISE, options: { ...vp9.options, crf: '22' } },
    audio: opus,
  },
  // Long enough that playlists grow: audio is made in chunks of about half a minute.
  'growing.ts': { ...ts, seconds: 72, video: noisyH264, audio: aac },
  'growing.mkv': { ...mkv, seconds: 72, video: noisyH264, audio: opus },
  'growing-cues-first.mkv': { ...mkv, seconds: 72, muxerOptions: { cues_to_front: '1' }, video: noisyH264, audio: aac },
  'growing-no-cues.mkv': { ...mkv, seconds: 72, muxerOptions: { live: '1' }, video: noisyH264, audio: aac },
  'growing-vfr.mkv': {
    ...mkv,
    seconds: 12,
    video: { ...noisyH264, deltasMs: [20, 33, 50, 67, 17, 120, 40, 33] },
    audio: opus,
  },
  'long-index-last.mov': {
    muxer: 'mov',
    seconds: 24,
    video: { ...h264, ...noise },
    audio: aac,
  },
  'h264-aac.mp4': { ...mp4, muxerOptions: faststart, video: h264, audio: aac },
  'live-480p.mp4': { ...mp4, seconds: 24, video: { ...h264, width: 854, height: 480 } },
  'h264-640x400.mp4': { ...mp4, video: { ...h264, width: 640, height: 400 }, audio: aac },
  'h264-index-at-end.mov': { ...mp4, muxer: 'mov', video: h264, audio: aac },
  'h264-fragmented.mp4': {
    ...mp4,
    muxerOptions: { movflags: '+frag_keyframe+empty_moov+default_base_moof' },
    video: h264,
    audio: aac,
  },
  'h264-mp3.mkv': { ...mkv, video: h264, audio: mp3 },
  'h264-aac.ts': { ...ts, video: h264, audio: aac },
  'h264-mp3.avi': { muxer: 'avi', seconds: SECONDS, video: h264, audio: mp3 },
  'h264-aac.flv': { muxer: 'flv', seconds: SECONDS, video: h264, audio: { ...aac, sampleRate: 44100 } },
  'hevc-aac.mp4': { ...mp4, video: { ...hevc, tag: 'hvc1' }, audio: aac },
  'hevc-ac3.mkv': { ...mkv, video: hevc, audio: ac3 },
  'vp9-opus.webm': { muxer: 'webm', seconds: SECONDS, video: vp9, audio: opus },
  'av1-opus.webm': { muxer: 'webm', seconds: SECONDS, video: av1, audio: opus },
  'av1-aac.mp4': { ...mp4, video: av1, audio: aac },
  'hevc-480p.mp4': { ...mp4, video: { ...hevc, width: 854, height: 480, tag: 'hvc1' }, audio: aac },
  'av1-480p.mp4': { ...mp4, video: { ...av1, width: 854, height: 480 }, audio: aac },
  'mpeg2-ac3.ts': {
    ...ts,
    video: { ...small, encoder: 'mpeg2video', bitRate: 1_500_000, gop: 15, bFrames: 2 },
    audio: ac3,
  },
  'mpeg4-mp3.avi': {
    muxer: 'avi',
    seconds: SECONDS,
    video: { ...small, encoder: 'mpeg4', bitRate: 1_500_000, gop: 60, bFrames: 0 },
    audio: mp3,
  },
  'mpeg4-b-frames.avi': {
    muxer: 'avi',
    seconds: SECONDS,
    video: { ...small, encoder: 'mpeg4', bitRate: 1_500_000, gop: 60, bFrames: 2 },
    audio: pcm,
  },
  'prores-pcm.mov': {
    muxer: 'mov',
    seconds: SECONDS,
    video: { ...small, encoder: 'prores_ks', filter: 'format=yuv422p10le', options: { profile: '2' } },
    audio: pcm,
  },
  // Audio.
  'h264-flac.mkv': { ...mkv, video: h264, audio: flac },
  'h264-vorbis.mkv': { ...mkv, video: h264, audio: vorbis },
  'h264-aac-44100-mono.mp4': { ...mp4, video: h264, audio: { ...aac, sampleRate: 44100, channels: 1 } },
  'h264-aac-22050.mp4': { ...mp4, video: h264, audio: { ...aac, sampleRate: 22050 } },
  'h264-aac-5.1.mp4': { ...mp4, video: h264, audio: { ...aac, channels: 6, bitRate: 384_000 } },
  'h264-ac3-5.1.mkv': { ...mkv, video: h264, audio: { ...ac3, channels: 6, bitRate: 448_000 } },
  'h264-opus-5.1.mkv': { ...mkv, video: h264, audio: { ...opus, channels: 6, bitRate: 256_000 } },
  'h264-pcm-mono.mov': { muxer: 'mov', seconds: SECONDS, video: h264, audio: { ...pcm, channels: 1 } },
  'audio-late.mkv': { ...mkv, video: h264, audio: { ...flac, startSeconds: 1.5, seconds: 3 } },
  'audio-hole.mkv': { ...mkv, seconds: 8, video: h264, audio: { ...mp3, hole: [3, 4.5] } },
  'audio-drift.mkv': { ...mkv, seconds: 30, audio: { ...mp3, drift: 0.002 } },
  'audio-longer.mp4': { ...mp4, video: { ...h264, seconds: 4 }, audio: { ...aac, seconds: 7.3 } },
  'one-frame.mp4': { ...mp4, video: { ...h264, seconds: 1 / 30 }, audio: { ...aac, seconds: 1.2 } },
  'two-slides.mp4': { ...mp4, seconds: 2, video: { ...h264, deltasMs: [1000] }, audio: aac },
  'audio-shorter.mp4': { ...mp4, video: h264, audio: { ...aac, seconds: 3.2 } },
  'video-late.mp4': { ...mp4, video: { ...h264, startSeconds: 0.7 }, audio: aac },
  'video-only.mp4': { ...mp4, video: h264 },
  'audio-only.mp3': { muxer: 'mp3', seconds: 12, audio: mp3 },
  'audio-only.m4a': { muxer: 'ipod', seconds: 12, audio: aac },
  'audio-only.flac': { muxer: 'flac', seconds: 12, audio: flac },
  'audio-only.ogg': { muxer: 'ogg', seconds: 12, audio: opus },
  'audio-only.wav': { muxer: 'wav', seconds: 12, audio: pcm },
  'loudness.wav': { muxer: 'wav', seconds: 20, audio: { ...pcm, tone: 1000, amplitude: 10 ** (-23 / 20) } },
  'silence.wav': { muxer: 'wav', seconds: 3, audio: { ...pcm, amplitude: 0 } },
  // Frame rates.
  'fps-23.976.mp4': { ...mp4, video: { ...h264, rate: [24000, 1001], gop: 48 }, audio: aac },
  'fps-25.mp4': { ...mp4, video: { ...h264, rate: [25, 1], gop: 50 }, audio: aac },
  'fps-29.97.mp4': { ...mp4, video: { ...h264, rate: [30000, 1001] }, audio: aac },
  'fps-50.mp4': { ...mp4, video: { ...h264, rate: [50, 1], gop: 100 }, audio: aac },
  'fps-59.94.mkv': { ...mkv, video: { ...h264, rate: [60000, 1001], gop: 120 }, audio: aac },
  'fps-120.mp4': { ...mp4, seconds: 4, video: { ...h264, rate: [120, 1], gop: 240 }, audio: aac },
  'vfr.mp4': { ...mp4, video: { ...h264, deltasMs: [20, 33, 50, 67, 17, 120, 40, 33] }, audio: aac },
  // Each frame is displayed for longer than a second.
  'slides.mp4': { ...mp4, video: { ...h264, deltasMs: [1500, 1200, 1800], gop: 2 }, audio: aac },
  'vfr.mkv': { ...mkv, video: { ...h264, deltasMs: [20, 33, 50, 67, 17, 120, 40, 33] }, audio: opus },
  // Rotated, so that they have to be encoded; a frame begins with every mark.
  'marks-30.mp4': { ...mp4, seconds: 12, video: { ...h264, rotation: 180 }, audio: aac },
  'marks-vfr.mp4': {
    ...mp4,
    seconds: 12,
    video: { ...h264, rotation: 180, deltasMs: [20, 33, 50, 67, 17, 120, 40, 33, 90, 250, 100, 33, 67, 80] },
    audio: aac,
  },
  // One frame a second on average; each third one shows no mark, so that the next one is a flash.
  'marks-slides.mp4': {
    ...mp4,
    seconds: 12,
    video: { ...h264, rotation: 180, deltasMs: [1000, 1500, 500] },
    audio: aac,
  },
  // Frame shapes and color.
  'portrait-90.mp4': { ...mp4, video: { ...h264, width: 180, height: 320, rotation: 90 }, audio: aac },
  'portrait-270.mov': { ...mp4, muxer: 'mov', video: { ...h264, width: 180, height: 320, rotation: 270 }, audio: aac },
  'rotated-180.mp4': { ...mp4, video: { ...h264, rotation: 180 }, audio: aac },
  'anamorphic.mp4': { ...mp4, video: { ...h264, filter: 'scale=240:180,setsar=4/3' }, audio: aac },
  'anamorphic-pal.ts': {
    ...ts,
    video: {
      ...small,
      rate: [25, 1],
      encoder: 'mpeg2video',
      bitRate: 3_000_000,
      gop: 12,
      filter: 'scale=360:288,setsar=64/45',
    },
    audio: ac3,
  },
  'odd-size.webm': { muxer: 'webm', seconds: SECONDS, video: { ...vp9, width: 321, height: 181 }, audio: opus },
  'odd-size-444.mp4': {
    ...mp4,
    video: { ...h264, width: 321, height: 181, filter: 'format=yuv444p' },
    audio: aac,
  },
  'interlaced-tff.ts': {
    ...ts,
    video: {
      ...h264,
      rate: [50, 1],
      gop: 50,
      interlaced: true,
      filter: 'interlace=scan=tff:lowpass=off',
      options: { ...x264, 'x264-params': `${x264['x264-params']}:tff=1` },
    },
    audio: aac,
  },
  'interlaced-mpeg2.ts': {
    ...ts,
    video: {
      ...small,
      rate: [50, 1],
      encoder: 'mpeg2video',
      bitRate: 2_500_000,
      gop: 12,
      bFrames: 2,
      interlaced: true,
      filter: 'interlace=scan=tff:lowpass=off',
    },
    audio: ac3,
  },
  'ten-bit.mp4': { ...mp4, video: { ...hevc, filter: 'format=yuv420p10le', tag: 'hvc1' }, audio: aac },
  'h264-ten-bit.mkv': { ...mkv, video: { ...h264, filter: 'format=yuv420p10le' }, audio: aac },
  'hdr-pq.mp4': { ...mp4, video: hdr('pq'), audio: aac },
  'hdr-hlg.mp4': { ...mp4, video: hdr('hlg'), audio: aac },
  'hdr-odd-size.webm': {
    muxer: 'webm',
    seconds: 1,
    // Painted with an even size, the only one that `zscale` takes.
    video: {
      ...vp9,
      width: 642,
      height: 364,
      hdr: 'pq',
      filter: `${hdr('pq').filter},crop=641:363:0:0:exact=1`,
    },
  },
  // Structure.
  'open-gop.mp4': {
    ...mp4,
    seconds: 10,
    video: {
      ...h264,
      options: { ...x264, 'x264-params': 'scenecut=0:open-gop=1:threads=1:bframes=3:b-adapt=0' },
      bFrames: 3,
    },
    audio: aac,
  },
  'open-gop-hevc.mkv': {
    ...mkv,
    seconds: 10,
    video: { ...hevc, options: { ...x265, 'x265-params': x265['x265-params'].replace('open-gop=0', 'open-gop=1') } },
    audio: aac,
  },
  'one-key-frame.mp4': { ...mp4, seconds: 30, video: { ...h264, gop: 100_000 }, audio: aac },
  'intra-refresh.mp4': {
    ...mp4,
    seconds: 10,
    video: { ...h264, bFrames: 0, options: { ...x264, 'x264-params': 'intra-refresh=1:threads=1:scenecut=0' } },
    audio: aac,
  },
  'edit-list.mp4': { ...mp4, seconds: 8, offsetSeconds: -1.25, video: h264, audio: aac },
  'start-10s.mkv': { ...mkv, offsetSeconds: 10, video: h264, audio: aac },
  'start-3600s.ts': { ...ts, muxerOptions: { copyts: '1' }, offsetSeconds: 3600, video: h264, audio: aac },
  'time-wrap.ts': { ...ts, offsetSeconds: 95_440, video: h264, audio: aac },
  'ts-part-2.ts': { ...ts, seconds: 5, firstCounter: 1000, video: h264, audio: aac },
  // Hard to encode.
  'grain.mp4': {
    ...mp4,
    video: { ...h264, filter: 'noise=alls=40:allf=t,format=yuv420p', options: { ...x264, crf: '14' } },
    audio: aac,
  },
  // A still texture of coarse and fine detail, panned: easy to predict from a key frame that is
  // hard to encode.
  'texture.mp4': {
    ...mp4,
    seconds: 8,
    video: { ...h264, filter: pannedTexture, options: { ...x264, crf: '14' } },
  },
  // For longer work: several segments of the usual length, and a top rung that can be copied.
  'long.mp4': { ...mp4, seconds: 20, muxerOptions: faststart, video: h264, audio: aac },
  // Rotated, so that its segments have to be encoded.
  'longer.mp4': { ...mp4, seconds: 50, video: { ...h264, rotation: 180 }, audio: aac },
  'copy-1080p.mp4': {
    ...mp4,
    seconds: 10,
    muxerOptions: faststart,
    video: { ...h264, width: 1920, height: 1080, options: { ...x264, preset: 'ultrafast', crf: '28' } },
    audio: aac,
  },
  // The same with a ladder that costs servers and players half as much.
  'copy-720p.mp4': {
    ...mp4,
    seconds: 10,
    muxerOptions: faststart,
    video: { ...h264, width: 1280, height: 720, options: { ...x264, preset: 'ultrafast', crf: '28' } },
    audio: aac,
  },
  // Shorter than a segment: what an encoder allocates depends on the size alone.
  'video-2160p.mp4': {
    ...mp4,
    seconds: 1.2,
    video: { ...h264, width: 3840, height: 2160, options: { ...x264, preset: 'ultrafast', crf: '28' } },
  },
  'long-audio.mkv': { ...mkv, seconds: 80, audio: { ...flac, sampleRate: 44100 } },
  ...unusual,
} satisfies Record<string, MediaRecipe>;
export type EncodedName = keyof typeof encoded;
/** Those that hold exactly what their recipes say. */
export const encodedNames = Object.keys(encoded).filter((name) => !(name in unusual)) as readonly EncodedName[];

const bytesOf = async (name: EncodedName): Promise<Buffer> => readFile(await fixture(name));

/** Flips bits at fixed places of `[from, until)` (shares of the length). */
const flip = (bytes: Buffer, from: number, until: number, flips: number): Buffer => {
  const damaged = Buffer.from(bytes);
  const start = Math.floor(damaged.length * from);
  const span = Math.floor(damaged.length * (until - from));
  for (let i = 0; i < flips; i++) {
    const at = start + Math.floor((span * (i + 0.5)) / flips);
    damaged[at] = (damaged[at] as number) ^ (1 << (i % 8));
  }
  return damaged;
};

const written = async (write: (path: string) => void): Promise<Buffer> => {
  const path = join(directory, `${randomBytes(6).toString('hex')}.part`);
  try {
    write(path);
    return await readFile(path);
  } finally {
    await rm(path, { force: true });
  }
};

const amr3gp = async (kind: 'nb' | 'wb'): Promise<Buffer> => {
  const video = await fixture('video-only.mp4');
  return written((path) => writeAmr3gp(video, kind, SECONDS, path));
};

/** Byte range of a top-level box. */
const findBox = (bytes: Buffer, type: string): { start: number; end: number } => {
  for (let at = 0; at + 8 <= bytes.length; ) {
    const size = bytes.readUInt32BE(at);
    if (bytes.toString('latin1', at + 4, at + 8) === type) return { start: at, end: at + size };
    at += size;
  }
  throw new Error(`no ${type} box`);
};

/** Files made from others' bytes or from text. */
const derived = {
  /** Two concatenated recordings: timestamps start again in the middle. */
  'ts-concatenated.ts': async (): Promise<Buffer> =>
    Buffer.concat([await bytesOf('h264-aac.ts'), await bytesOf('ts-part-2.ts')]),
  'truncated.mp4': async (): Promise<Buffer> => {
    const bytes = await bytesOf('h264-aac.mp4');
    return bytes.subarray(0, Math.floor(bytes.length * 0.6));
  },
  /** Index at the end and cut off: nothing can be found in it. */
  'truncated-without-index.mov': async (): Promise<Buffer> => {
    const bytes = await bytesOf('h264-index-at-end.mov');
    return bytes.subarray(0, Math.floor(bytes.length * 0.6));
  },
  'truncated.mkv': async (): Promise<Buffer> => {
    const bytes = await bytesOf('h264-mp3.mkv');
    return bytes.subarray(0, Math.floor(bytes.length * 0.6));
  },
  'bit-flips-in-index.mp4': async (): Promise<Buffer> => {
    const bytes = await bytesOf('h264-aac.mp4');
    const { start, end } = findBox(bytes, 'moov');
    return flip(bytes, start / bytes.length, end / bytes.length, 24);
  },
  'bit-flips-in-data.mp4': async (): Promise<Buffer> => {
    const bytes = await bytesOf('h264-aac.mp4');
    const { start, end } = findBox(bytes, 'mdat');
    return flip(bytes, (start + 16) / bytes.length, end / bytes.length, 40);
  },
  'late-frame.mp4': async (): Promise<Buffer> => withLateFrame(await bytesOf('h264-aac.mp4')),
  /** One frame an hour late: its presentation time alone is wrong. */
  'wrong-frame-time.ts': async (): Promise<Buffer> =>
    withWrongTimes(await bytesOf('h264-aac.ts'), [{ kind: 'frame', packet: 100, field: 'pts', addSeconds: 3600 }]),
  'wrong-decode-time.ts': async (): Promise<Buffer> =>
    withWrongTimes(await bytesOf('h264-aac.ts'), [{ kind: 'frame', packet: 100, field: 'dts', addSeconds: -3 }]),
  /** 14 hours: more than a file may last. */
  'wrong-audio-time.ts': async (): Promise<Buffer> =>
    withWrongTimes(await bytesOf('h264-aac.ts'), [{ kind: 'audio', packet: 15, field: 'pts', addSeconds: 50_400 }]),
  /** In a frame in the middle, and at both ends of the file. */
  'wrong-times.ts': async (): Promise<Buffer> =>
    withWrongTimes(await bytesOf('h264-aac.ts'), [
      { kind: 'frame', packet: 0, field: 'pts', addSeconds: 7200 },
      { kind: 'frame', packet: 60, field: 'pts', addSeconds: -30 },
      { kind: 'frame', packet: 60, field: 'dts', addSeconds: -30 },
      { kind: 'frame', packet: 130, field: 'pts', addSeconds: 2 },
      { kind: 'audio', packet: 20, field: 'pts', addSeconds: -2 },
      { kind: 'audio', packet: -1, field: 'pts', addSeconds: 50_400 },
    ]),
  'subtitles.srt': async (): Promise<Buffer> => Buffer.from('1\n00:00:01,000 --> 00:00:02,000\nHello\n\n'.repeat(3)),
  'unknown-codec.mp4': async (): Promise<Buffer> => withUnknownCodec(await bytesOf('video-only.mp4'), 'avc1'),
  'unknown-video-codec.mp4': async (): Promise<Buffer> => withUnknownCodec(await bytesOf('h264-aac.mp4'), 'avc1'),
  'unknown-audio-codec.mov': async (): Promise<Buffer> => withUnknownCodec(await bytesOf('h264-pcm-mono.mov'), 'sowt'),
  'two-videos.mp4': async (): Promise<Buffer> => {
    const [video, cover] = [await fixture('video-only.mp4'), await bytesOf('image.png')];
    return written((path) => writeTwoVideos(video, cover, path));
  },
  'image-first.mkv': async (): Promise<Buffer> => {
    const [video, image] = [await fixture('video-only.mp4'), await bytesOf('image.png')];
    return written((path) => writeImageFirst(video, image, path));
  },
  'itunes-priming.m4a': async (): Promise<Buffer> => withItunesPriming(await bytesOf('audio-only.m4a'), 2112),
  'audio-only.amr': async (): Promise<Buffer> => amrFile('nb', 12),
  'h264-amr.3gp': (): Promise<Buffer> => amr3gp('nb'),
  'h264-amr-wb.3gp': (): Promise<Buffer> => amr3gp('wb'),
  'h263-false-key-frames.3gp': async (): Promise<Buffer> => withoutSyncTable(await bytesOf('h263-aac.3gp')),
  'vp6.flv': async (): Promise<Buffer> => vp6Flv(20),
  'without-index.avi': async (): Promise<Buffer> => withoutAviIndex(await bytesOf('mpeg4-pcm-long.avi')),
  'unseekable-start.mp4': async (): Promise<Buffer> => withUnmarkedStart(await bytesOf('h264-fragmented.mp4'), 2),
  'unmarked-start.mp4': async (): Promise<Buffer> => withUnmarkedStart(await bytesOf('mpeg4-fragmented.mp4'), 2),
  /** Cut between two key frames, as a recording that was begun at any moment. */
  'mid-gop.ts': async (): Promise<Buffer> => {
    const bytes = await bytesOf('h264-aac.ts');
    return bytes.subarray(188 * Math.floor(bytes.length / 188 / 10));
  },
  'bit-flips.ts': async (): Promise<Buffer> => flip(await bytesOf('h264-aac.ts'), 0.1, 0.9, 60),
  'garbage.mp4': async (): Promise<Buffer> => {
    const bytes = Buffer.alloc(200_000);
    let state = 1;
    for (let i = 0; i < bytes.length; i++) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      bytes[i] = state >> 16;
    }
    return bytes;
  },
  'empty.mp4': async (): Promise<Buffer> => Buffer.alloc(0),
  'text.mp4': async (): Promise<Buffer> =>
    Buffer.from('This is not a video, it only has the name of one.\n'.repeat(40)),
  'hls-playlist.mp4': async (): Promise<Buffer> =>
    Buffer.from('#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n'),
  'concat-script.mp4': async (): Promise<Buffer> => Buffer.from("ffconcat version 1.0\nfile 'h264-aac.mp4'\n"),
  'dash-manifest.mp4': async (): Promise<Buffer> =>
    Buffer.from(
      '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT6S" ' +
        'profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period><AdaptationSet mimeType="video/mp4">' +
        `<Representation id="1" bandwidth="100000"><BaseURL>file://${await fixture('h264-fragmented.mp4')}</BaseURL>` +
        '</Representation></AdaptationSet></Period></MPD>',
    ),
};

export type FixtureName = EncodedName | keyof typeof derived | 'png-bomb.mkv';
/** What went into a fixture: its length, tones and rates are known to tests from here. */
export const recipeOf = (name: EncodedName): MediaRecipe => encoded[name];

/** 0.4 MB that unpack to a frame of 12,000 x 12,000. */
const pngBomb: MediaRecipe = {
  muxer: 'matroska',
  seconds: 0.03,
  video: {
    encoder: 'png',
    width: 64,
    height: 64,
    rate: [30, 1],
    filter: 'scale=12000:12000:flags=neighbor,format=rgb24,drawbox=color=gray:t=fill',
  },
};

const running = new Map<FixtureName, Promise<string>>();

/** Path of the fixture; generated when it is not there yet. */
export const fixture = (name: FixtureName): Promise<string> => {
  let path = running.get(name);
  if (path === undefined) {
    path = generate(name);
    running.set(name, path);
  }
  return path;
};

const generators = ['test/support/media/fixture-media.ts', 'src/engine/video/test-pattern.ts'];
let generatorHash: Promise<string> | undefined;
const hashGenerators = async (): Promise<string> => {
  const hash = createHash('sha256');
  for (const file of generators) hash.update(await readFile(join(root, file)));
  return hash.digest('hex');
};

/**
 * SVT-AV1 gives its process real-time priority when root runs it. Every server that the test starts
 * would inherit that, and keep other processes from running at all.
 */
export const leaveRealTime = (): void => {
  execFileSync('chrt', ['--all-tasks', '--other', '--pid', '0', String(process.pid)]);
};

const generate = async (name: FixtureName): Promise<string> => {
  generatorHash ??= hashGenerators();
  const recipe = name === 'png-bomb.mkv' ? pngBomb : name in encoded ? encoded[name as EncodedName] : undefined;
  const hash = createHash('sha256').update(await generatorHash);
  const make = recipe === undefined ? derived[name as keyof typeof derived] : undefined;
  const bytes = make === undefined ? undefined : await make();
  hash.update(bytes ?? JSON.stringify(recipe));
  const folder = join(directory, hash.digest('hex').slice(0, 16));
  const path = join(folder, name);
  if (existsSync(path)) return path;
  await mkdir(folder, { recursive: true });
  // Several test processes may want the same file: each writes its own and the last rename wins
  // with equal bytes.
  const temporary = join(folder, `${randomBytes(6).toString('hex')}.part`);
  try {
    if (bytes !== undefined) await writeFile(temporary, bytes);
    else if (recipe !== undefined) {
      writeMedia(recipe, temporary);
      if ('video' in recipe && recipe.video?.encoder === 'libsvtav1') leaveRealTime();
    }
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
  return path;
};

// The source files of the benchmarks, made once by ffmpeg: 1080p30 H.264 with a key frame every 2 s
// and AAC, about 34 MB per minute. Longer files repeat the same frames, so that only the length
// differs. Their audio is encoded in one piece: a minute is not a whole number of AAC frames, so
// repeating it leaves gaps, and audio with gaps can't be copied.
import { existsSync } from 'node:fs';
import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ffmpeg } from './programs.mjs';

const directory = fileURLToPath(new URL('../../node_modules/.cache/kinora-bench', import.meta.url));

const made = async (name, ...args) => {
  const path = join(directory, name);
  if (existsSync(path)) return path;
  await mkdir(directory, { recursive: true });
  // Unique to this process, because concurrent benchmarks must not write the same file.
  const temporary = join(directory, `part-${process.pid}-${name}`);
  await ffmpeg(...args, temporary).ended;
  await rename(temporary, path);
  return path;
};

const pattern = 'testsrc2=size=1920x1080:rate=30,noise=alls=6:allf=t';
const audio = 'sine=frequency=440:beep_factor=4:sample_rate=48000,aeval=val(0)|0.7*val(0)';
const h264 =
  '-c:v libx264 -preset veryfast -b:v 4500k -maxrate 6000k -bufsize 9000k -g 60 -keyint_min 60 -sc_threshold 0 -pix_fmt yuv420p';

/** `seconds`: 10, or whole minutes. */
export const movie = async (seconds) => {
  const minute = ['-f', 'lavfi', '-i', pattern, '-f', 'lavfi', '-i', audio, '-t', '60', ...h264.split(' ')];
  const one = await made('movie-60.mp4', ...minute, '-c:a', 'aac', '-b:a', '128k', '-movflags', '+faststart');
  if (seconds === 60) return one;
  const loops = String(Math.ceil(seconds / 60) - 1);
  const inputs = ['-stream_loop', loops, '-i', one, '-f', 'lavfi', '-i', audio, '-map', '0:v', '-map', '1:a'];
  const codecs = ['-c:v', 'copy', '-c:a', 'aac', '-b:a', '128k', '-movflags', '+faststart'];
  return made(`movie-${seconds}-whole-audio.mp4`, ...inputs, '-t', String(seconds), ...codecs);
};

/**
 * Two seconds, small, so that only the work for each asset counts: a video with audio, without, and
 * audio alone.
 */
export const tiny = async () => {
  const video = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=25', '-t', '2', ...h264.split(' ')];
  const tone = ['-f', 'lavfi', '-i', audio];
  const aac = ['-c:a', 'aac', '-b:a', '64k'];
  return {
    'video.mp4': await made('tiny.mp4', ...tone, ...video, ...aac, '-movflags', '+faststart'),
    'silent.mp4': await made('tiny-silent.mp4', ...video),
    'audio.m4a': await made('tiny.m4a', ...tone, '-t', '2', ...aac),
  };
};

/** Ten minutes of 5.1 FLAC with a small video. None of its audio can be copied. */
export const surround = () =>
  made(
    'surround.mkv',
    ...['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=30', '-f', 'lavfi'],
    ...[
      '-i',
      'anoisesrc=color=pink:amplitude=0.3:sample_rate=48000,pan=5.1|c0=c0|c1=0.8*c0|c2=0.5*c0|c3=0.2*c0|c4=0.4*c0|c5=0.3*c0',
    ],
    ...['-t', '600', '-c:v', 'libx264', '-preset', 'ultrafast', '-g', '60', '-pix_fmt', 'yuv420p', '-c:a', 'flac'],
  );

/** An image with soft edges, used as an overlay. */
export const watermark = () =>
  made(
    'watermark.png',
    ...['-f', 'lavfi', '-i', 'color=white:size=400x200,format=rgba,geq=r=255:g=255:b=255:a=X/2'],
    ...['-frames:v', '1', '-update', '1'],
  );

/** A minute of subtitles. */
export const caption = async () => {
  const path = join(directory, 'caption.vtt');
  const cues = Array.from({ length: 20 }, (_, i) => {
    const at = (seconds) => `00:00:${String(seconds).padStart(2, '0')}.000`;
    return `${at(3 * i)} --> ${at(3 * i + 2)}\nLine ${i + 1}\n`;
  });
  await mkdir(directory, { recursive: true });
  await writeFile(path, ['WEBVTT\n', ...cues].join('\n'));
  return path;
};

/** Audio in another language. */
export const audioTrack = (seconds) =>
  made(
    `audio-${seconds}.m4a`,
    ...['-f', 'lavfi', '-i', `sine=frequency=220:sample_rate=48000:duration=${seconds}`],
    ...['-c:a', 'aac', '-b:a', '128k'],
  );

/** Bits of the number that each frame of `countedMovie` shows in its top left corner. */
export const COUNTER = { bits: 12, squarePixels: 32 };

/** 720p30 for live streams, two minutes, with the number of each frame: the lowest bit is left. */
export const countedMovie = () => {
  const { bits, squarePixels: size } = COUNTER;
  const squares = Array.from({ length: bits }, (_, bit) => {
    const isOne = `enable='mod(floor(n/${2 ** bit})\\,2)'`;
    return `drawbox=x=${bit * size}:y=0:w=${size}:h=${size}:color=white:t=fill:${isOne}`;
  });
  const black = `drawbox=x=0:y=0:w=${bits * size}:h=${size}:color=black:t=fill`;
  const video = ['testsrc2=size=1280x720:rate=30', black, ...squares].join(',');
  const lavfi = ['-f', 'lavfi', '-i', video, '-f', 'lavfi', '-i', audio, '-t', '120'];
  const codecs = ['-c:v', 'libx264', '-preset', 'veryfast', '-b:v', '2500k', '-maxrate', '3000k', '-bufsize', '3000k'];
  const frames = ['-g', '60', '-keyint_min', '60', '-sc_threshold', '0', '-pix_fmt', 'yuv420p'];
  return made('counted-120.mp4', ...lavfi, ...codecs, ...frames, '-c:a', 'aac', '-b:a', '128k');
};

/** The length of three segments. */
export const QUALITY_SECONDS = 12;
const contents = {
  // A drawing that moves slowly.
  easy: 'gradients=size=1920x1080:rate=30:speed=0.01:seed=4:nb_colors=3,drawgrid=width=240:height=216:thickness=6:color=white',
  medium: 'testsrc2=size=1920x1080:rate=30',
  // Coarse and fine detail, panned: the key frame needs many bits, the following frames few.
  texture: [
    'color=gray:size=60x34:rate=30,noise=alls=80',
    ...['120:68', '240:136', '480:270', '960:540', '1920:1080'].map((size, octave) => {
      const strength = [70, 60, 45, 30, 15][octave];
      return `scale=${size}:flags=bicubic,noise=alls=${strength}`;
    }),
    'scroll=h=0.004:v=0.002',
  ].join(','),
  // A zoom into fine detail, with grain.
  hard: 'mandelbrot=size=1920x1080:rate=30:start_scale=0.5:end_scale=0.01:end_pts=400,noise=alls=8:allf=t',
};

/**
 * A source with the given content, lightly compressed. It has open GOPs, so that no rendition can
 * be a copy.
 */
export const qualitySource = (content) =>
  made(
    `quality-${content}-${QUALITY_SECONDS}.mp4`,
    ...['-f', 'lavfi', '-i', contents[content], '-t', String(QUALITY_SECONDS), '-pix_fmt', 'yuv420p'],
    ...['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '12', '-g', '60'],
    ...['-x264-params', 'open-gop=1:bframes=3:b-adapt=0:scenecut=0'],
  );

export const megabytes = async (path) => (await stat(path)).size / 1e6;

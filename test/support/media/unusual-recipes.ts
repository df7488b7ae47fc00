import type { AudioRecipe, MediaRecipe, VideoRecipe } from './fixture-recipe.js';

const SECONDS = 4;
const small = { width: 320, height: 180, rate: [25, 1], gop: 25 } as const;
const pcm: AudioRecipe = { encoder: 'pcm_s16le', sampleRate: 48000, channels: 2 };
const mp3: AudioRecipe = { encoder: 'libmp3lame', sampleRate: 44100, channels: 2, bitRate: 128_000 };
const h263: VideoRecipe = { ...small, width: 352, height: 288, encoder: 'h263', bitRate: 800_000, gop: 100 };
const rgb = 'format=rgb24';
const video = (muxer: string, encoder: string, filter: string, audio?: AudioRecipe): MediaRecipe => ({
  muxer,
  seconds: SECONDS,
  video: { ...small, encoder, filter },
  ...(audio && { audio }),
});
const audio = (muxer: string, audio: AudioRecipe): MediaRecipe => ({ muxer, seconds: 12, audio });

const MATRIX_SIZE = { width: 640, height: 360 } as const;
/** Areas of pure colors, encoded with a color matrix by its names in `zscale` and in x264. */
const matrix = (filter: string, x264: string, { primaries = 'bt709', transfer = 'bt709' } = {}): MediaRecipe => ({
  muxer: 'mp4',
  seconds: 1,
  video: {
    ...small,
    ...MATRIX_SIZE,
    encoder: 'libx264',
    filter:
      `drawbox=0:40:200:200:red:fill,drawbox=220:40:200:200:green:fill,drawbox=440:40:200:200:blue:fill,format=gbrp,` +
      `setparams=colorspace=gbr:range=pc:color_primaries=${primaries}:color_trc=${transfer},` +
      `zscale=matrix=${filter}:range=limited,format=yuv420p`,
    options: {
      preset: 'ultrafast',
      crf: '12',
      'x264-params': `colormatrix=${x264}:colorprim=${primaries}:transfer=${transfer}:range=tv:threads=1`,
    },
  },
});
const noise = {
  encoder: 'libx264',
  filter: 'noise=alls=12,format=yuv420p',
  options: { preset: 'veryfast', crf: '18' },
};

/**
 * Formats and codecs that few recordings use today; the extension is what a user's file would have.
 */
export const unusual = {
  'matrix-bt709.mp4': matrix('709', 'bt709'),
  'matrix-ycgco.mp4': matrix('ycgco', 'YCgCo'),
  'matrix-bt2020c.mp4': matrix('2020_cl', 'bt2020c', { primaries: 'bt2020', transfer: 'bt2020-10' }),
  'matrix-bt2020nc.mp4': matrix('2020_ncl', 'bt2020nc', { primaries: 'bt2020', transfer: 'bt2020-10' }),
  'matrix-derived.mp4': matrix('chroma-derived-nc', 'chroma-derived-nc'),
  // ICtCp without HDR is not defined, and the filter does not write SMPTE ST 2085.
  'matrix-ictcp.mp4': matrix('709', 'ICtCp'),
  'matrix-smpte2085.mp4': matrix('709', 'smpte2085'),
  'noisy-frame.mp4': { muxer: 'mp4', seconds: 0.03, video: { ...noise, ...MATRIX_SIZE, rate: [30, 1] } },
  'noisy-frames.mp4': { muxer: 'mp4', seconds: 0.023, video: { ...noise, ...MATRIX_SIZE, rate: [86, 1] } },
  'short.aiff': { muxer: 'aiff', seconds: 101 / 48_000, audio: { ...pcm, encoder: 'pcm_s16be' } },
  'short.mp3': { muxer: 'mp3', seconds: 0.01, audio: mp3 },
  /** 120 frames in a second, then one a second. */
  'bursts.mp4': {
    muxer: 'mp4',
    seconds: 8,
    video: { ...small, ...MATRIX_SIZE, encoder: 'libx264', deltasMs: [...Array(125).fill(8), 1000, 1000, 1000] },
  },
  /** A raw stream that states no frame rate, longer than what FFmpeg probes. */
  'no-rate.hevc': {
    muxer: 'hevc',
    seconds: 8,
    video: {
      ...small,
      encoder: 'libx265',
      options: { preset: 'ultrafast', 'x265-params': 'log-level=none:pools=none:frame-threads=1:vui-timing-info=0' },
    },
  },
  /** One frame, whose duration follows from the frame rate alone. */
  'one-frame.h264': { muxer: 'h264', seconds: 0.04, video: { ...small, encoder: 'libx264' } },
  'encrypted.mp4': {
    muxer: 'mp4',
    muxerOptions: {
      encryption_scheme: 'cenc-aes-ctr',
      encryption_key: '76a6c65c5ea762046bd749a2e632ccbb',
      encryption_kid: 'a7e61c373e219033c21091fa607bf3b8',
    },
    seconds: SECONDS,
    video: { ...small, encoder: 'libx264' },
    audio: { ...mp3, encoder: 'aac' },
  },
  'animation.gif': video('gif', 'gif', 'format=gray'),
  'animation.png': video('apng', 'apng', rgb),
  'animation.webp': video('webp', 'libwebp_anim', 'format=yuv420p'),
  'image.png': { ...video('apng', 'apng', rgb), seconds: 0.04 },
  'still.gif': { ...video('gif', 'gif', 'format=gray'), seconds: 0.04 },
  'rle-pcm.mov': video('mov', 'qtrle', rgb, pcm),
  'png-pcm.mov': video('mov', 'png', rgb, pcm),
  'cineform-pcm.mov': video('mov', 'cfhd', 'scale=640:360,format=yuv422p10le', pcm),
  // The encoder's defaults take twice as long.
  'cinepak-pcm.avi': {
    ...video('avi', 'cinepak', rgb, pcm),
    seconds: 2,
    video: { ...small, encoder: 'cinepak', filter: rgb, options: { max_strips: '1', max_extra_cb_iterations: '0' } },
  },
  'huffyuv-pcm.avi': video('avi', 'huffyuv', 'format=yuv422p', pcm),
  'sorenson-mp3.flv': { ...video('flv', 'flv', 'format=yuv420p', mp3) },
  'raw.y4m': video('yuv4mpegpipe', 'wrapped_avframe', 'format=yuv420p'),
  'raw.dv': { ...video('dv', 'dvvideo', 'scale=720:576,setsar=16/15,format=yuv420p', pcm), seconds: 2 },
  'mpeg4-fragmented.mp4': {
    muxer: 'mp4',
    muxerOptions: { movflags: '+frag_keyframe+empty_moov+default_base_moof' },
    seconds: 12,
    video: { ...small, encoder: 'mpeg4', bitRate: 800_000, gop: 50 },
    audio: { ...mp3, encoder: 'aac' },
  },
  'h263-aac.3gp': { muxer: '3gp', seconds: 8, video: h263, audio: { ...mp3, encoder: 'aac' } },
  'audio-only.aiff': audio('aiff', { ...pcm, encoder: 'pcm_s16be' }),
  'audio-only.caf': audio('caf', { ...pcm, encoder: 'pcm_s16be' }),
  'audio-only.ac3': audio('ac3', { encoder: 'ac3', sampleRate: 48000, channels: 2, bitRate: 192_000 }),
  'without-cues.mkv': {
    muxer: 'matroska',
    muxerOptions: { live: '1' },
    seconds: 12,
    video: { ...small, encoder: 'mpeg4', bitRate: 800_000 },
    audio: mp3,
  },
  'below-zero.mkv': {
    muxer: 'matroska',
    muxerOptions: { avoid_negative_ts: 'disabled' },
    seconds: SECONDS,
    offsetSeconds: -1,
    video: { ...small, encoder: 'mpeg4', bitRate: 800_000 },
    audio: mp3,
  },
  'long.ts': {
    muxer: 'mpegts',
    seconds: 44,
    video: { ...small, encoder: 'libx264', options: { preset: 'ultrafast' }, gop: 50 },
    audio: { ...mp3, encoder: 'aac' },
  },
  'intra-refresh.ts': {
    muxer: 'mpegts',
    seconds: 8,
    video: { ...small, encoder: 'libx264', options: { preset: 'ultrafast', 'x264-params': 'intra-refresh=1' } },
  },
  'mpeg4-pcm-long.avi': {
    muxer: 'avi',
    seconds: 48,
    video: { ...small, encoder: 'mpeg4', bitRate: 800_000 },
    audio: pcm,
  },
} satisfies Record<string, MediaRecipe>;

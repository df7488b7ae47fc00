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

/** Formats and codecs that few recordings use today; the extension is what a user's file would have. */
export const unusual = {
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

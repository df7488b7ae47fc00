import { playMatrix } from '../support/players/playback-matrix.js';

/**
 * Matroska stamps are whole milliseconds: where audio of such a file begins is known to half of
 * one.
 */
const inMatroska = { offsetSeconds: 6e-4 };
/** Small frames without color tags are BT.601; what is served is BT.709. */
const untagged = { lumaTolerance: 0.05 };
/** Front left of 5.1 in a down-mix that cannot clip. */
const downMixed = { level: 0.708 };

// Codecs, containers and audio.
playMatrix([
  { name: 'h264-aac.mp4' },
  { name: 'h264-index-at-end.mov' },
  { name: 'h264-fragmented.mp4', offsetSeconds: 1e-3 },
  { name: 'h264-aac.ts' },
  { name: 'h264-mp3.avi' },
  { name: 'h264-aac.flv' },
  { name: 'hevc-aac.mp4' },
  { name: 'hevc-ac3.mkv', ...inMatroska },
  { name: 'vp9-opus.webm', ...inMatroska },
  { name: 'av1-aac.mp4' },
  { name: 'mpeg2-ac3.ts' },
  { name: 'mpeg4-mp3.avi', ...untagged },
  { name: 'mpeg4-b-frames.avi', ...untagged },
  { name: 'prores-pcm.mov' },
  { name: 'h264-vorbis.mkv', ...inMatroska },
  { name: 'h264-aac-44100-mono.mp4' },
  { name: 'h264-aac-22050.mp4' },
  { name: 'h264-aac-5.1.mp4', ...downMixed },
  { name: 'h264-ac3-5.1.mkv', ...downMixed, ...inMatroska },
  { name: 'h264-opus-5.1.mkv', ...downMixed, ...inMatroska },
  { name: 'h264-pcm-mono.mov' },
  { name: 'audio-late.mkv', ...inMatroska },
  { name: 'audio-hole.mkv', offsetSeconds: 1e-3, wanderSeconds: 6e-4 },
  { name: 'audio-longer.mp4' },
  { name: 'audio-shorter.mp4' },
  { name: 'video-late.mp4' },
  { name: 'video-only.mp4' },
  { name: 'audio-only.mp3' },
  { name: 'audio-only.m4a' },
  { name: 'audio-only.flac' },
  { name: 'audio-only.ogg' },
  { name: 'audio-only.wav' },
  { name: 'long-audio.mkv', ...inMatroska },
]);

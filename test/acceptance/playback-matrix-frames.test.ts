import { playMatrix } from '../support/players/playback-matrix.js';

const sdr = { looksLike: 'h264-aac.mp4', lumaTolerance: 0.15 } as const;
/**
 * A flash that begins with the second field is in the first frame with both fields of it, or not.
 */
const interlaced = { lumaTolerance: 0.1 };

// Frame rates, shapes, color and structure.
playMatrix([
  { name: 'fps-23.976.mp4' },
  { name: 'fps-50.mp4' },
  { name: 'fps-59.94.mkv', offsetSeconds: 6e-4 },
  { name: 'fps-120.mp4', frameStep: 2 },
  { name: 'vfr.mp4' },
  { name: 'vfr.mkv', offsetSeconds: 6e-4 },
  { name: 'portrait-90.mp4' },
  { name: 'rotated-180.mp4' },
  { name: 'anamorphic.mp4' },
  { name: 'anamorphic-pal.ts', rungs: ['480x270', '512x288'] },
  { name: 'odd-size.webm', rungs: ['320x180'], offsetSeconds: 6e-4 },
  { name: 'odd-size-444.mp4', rungs: ['320x180'] },
  { name: 'interlaced-tff.ts', ...interlaced },
  { name: 'interlaced-mpeg2.ts', ...interlaced },
  { name: 'ten-bit.mp4' },
  { name: 'h264-ten-bit.mkv', offsetSeconds: 6e-4 },
  { name: 'hdr-pq.mp4', ...sdr },
  { name: 'hdr-hlg.mp4', ...sdr },
  { name: 'open-gop.mp4' },
  { name: 'open-gop-hevc.mkv', offsetSeconds: 6e-4 },
  { name: 'one-key-frame.mp4' },
  { name: 'intra-refresh.mp4' },
  { name: 'edit-list.mp4' },
  { name: 'start-10s.mkv', offsetSeconds: 6e-4 },
  { name: 'start-3600s.ts' },
  { name: 'time-wrap.ts' },
  { name: 'long.mp4' },
]);

// An encoder that sends a file over RTMP in real time, and what measurements of a live stream need
// to know about it: when it sent which frame.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { start } from './programs.mjs';

export const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
};

const FILE_HEADER_BYTES = 13;
const TAG_HEADER_BYTES = 11;
const VIDEO = 9;
const KEY_FRAME = 1;
const CODED_FRAMES = 1;

/** Calls `onFrame` for each frame of video in a stream of FLV, with its time in milliseconds. */
const readFrames = (stream, onFrame) => {
  let rest = Buffer.alloc(0);
  let skip = FILE_HEADER_BYTES;
  stream.on('data', (chunk) => {
    rest = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    let at = skip;
    for (; at + TAG_HEADER_BYTES <= rest.length; ) {
      const end = at + TAG_HEADER_BYTES + rest.readUIntBE(at + 1, 3) + 4;
      if (end > rest.length) break;
      const body = at + TAG_HEADER_BYTES;
      if (rest[at] === VIDEO && rest[body + 1] === CODED_FRAMES) {
        const dtsMs = rest.readUIntBE(at + 4, 3) + rest[at + 7] * 2 ** 24;
        onFrame({ ptsMs: dtsMs + rest.readIntBE(body + 2, 3), isKey: rest[body] >> 4 === KEY_FRAME });
      }
      at = end;
    }
    rest = rest.subarray(at);
    skip = 0;
  });
};

/**
 * Sends `path`, which has 30 frames a second and begins with a key frame, to `url` in real time,
 * and repeats it until it is stopped. FFmpeg writes the same packets to a pipe at the same time, so
 * that `sentAt(frame)`, in milliseconds since 1970, is when it sent the frame that is shown
 * `frame`-th.
 */
export const startEncoder = (path, url) => {
  const input = ['-re', '-stream_loop', '-1', '-i', path, '-c', 'copy', '-flush_packets', '1'];
  const args = ['-nostdin', '-hide_banner', '-v', 'error', ...input, '-f', 'flv', url];
  const copy = ['-map', '0:v', '-c', 'copy', '-flush_packets', '1', '-f', 'flv', 'pipe:1'];
  const encoder = start('ffmpeg', [...args, ...copy], { stdout: 'pipe' });
  // The server that it sends to may be killed.
  const ended = encoder.ended.catch(() => undefined);
  const sent = new Map();
  let firstMs;
  let announce;
  const firstKeyFrame = new Promise((resolve) => {
    announce = resolve;
  });
  readFrames(encoder.stdout, ({ ptsMs, isKey }) => {
    const nowMs = performance.timeOrigin + performance.now();
    if (firstMs === undefined && isKey) {
      firstMs = ptsMs;
      announce(nowMs);
    }
    if (firstMs !== undefined) sent.set(Math.round(((ptsMs - firstMs) * 30) / 1000), nowMs);
  });
  return {
    ended,
    firstKeyFrame,
    sentAt: (frame) => sent.get(frame),
    /** Of those that were sent. */
    lastFrame: () => Math.max(...sent.keys()),
    stop: async () => {
      encoder.stop('SIGKILL');
      await ended;
    },
  };
};

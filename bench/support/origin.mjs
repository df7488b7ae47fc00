// The web server that Kinora and ffmpeg load the source from.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { pipeline } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Simulates a line of this speed that all callers share. Resolves when `bytes` more bytes have been
 * sent.
 */
const createLine = (bytesPerSecond) => {
  let freeMs = 0;
  return async (bytes) => {
    const nowMs = performance.now();
    freeMs = Math.max(freeMs, nowMs) + (bytes / bytesPerSecond) * 1000;
    if (freeMs - nowMs > 5) await delay(freeMs - nowMs);
  };
};

/**
 * Serves one file under any name. `lastByteMs` is the time (`performance.now`) at which the last
 * response was complete; `sentBytes` is the total sent. `bytesPerSecond` limits the speed of all
 * responses together, like a shared line.
 */
export const startOrigin = async (path, { bytesPerSecond } = {}) => {
  const origin = { lastByteMs: undefined, sentBytes: 0 };
  const line = bytesPerSecond && createLine(bytesPerSecond);
  const { size } = await stat(path);
  const server = createServer((request, response) => {
    const match = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    const start = Number(match?.[1] ?? 0);
    const end = match?.[2] ? Number(match[2]) : size - 1;
    response.writeHead(match ? 206 : 200, {
      'accept-ranges': 'bytes',
      etag: '"1"',
      'content-type': 'video/mp4',
      'content-length': end - start + 1,
      ...(match && { 'content-range': `bytes ${start}-${end}/${size}` }),
    });
    response.on('finish', () => {
      origin.lastByteMs = performance.now();
    });
    // Clients may close the connection early, so pipeline errors are ignored.
    const body = createReadStream(path, { start, end, highWaterMark: line ? 1 << 15 : 1 << 20 });
    const count = async function* (chunks) {
      for await (const chunk of chunks) {
        await line?.(chunk.length);
        origin.sentBytes += chunk.length;
        yield chunk;
      }
    };
    pipeline(body, count, response, () => undefined);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin.url = `http://127.0.0.1:${server.address().port}/movie.mp4`;
  origin.stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return origin;
};

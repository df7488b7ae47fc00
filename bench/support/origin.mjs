// The web server that Kinora and ffmpeg load the source from.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { pipeline } from 'node:stream';

/** Serves one file under any name. `lastByteMs` is the time (`performance.now`) at which the last answer was sent whole. */
export const startOrigin = async (path) => {
  const origin = { lastByteMs: undefined };
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
    // A client that has seen enough closes the connection.
    pipeline(createReadStream(path, { start, end, highWaterMark: 1 << 20 }), response, () => undefined);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin.url = `http://127.0.0.1:${server.address().port}/movie.mp4`;
  origin.stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return origin;
};

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { ffmpegPath } from '../media/ffmpeg-command.js';
import { until } from '../servers/server-process.js';

export interface RtmpListener {
  readonly process: ChildProcess;
  /** Resolves when the sender has ended the stream and the file is complete. */
  readonly ended: Promise<unknown>;
}

/**
 * A service that accepts one stream, with the system's FFmpeg, and writes it into a file of FLV as
 * it is. Resolves when it listens.
 */
export const startRtmpListener = async (port: number, key: string, path: string): Promise<RtmpListener> => {
  const url = `rtmp://127.0.0.1:${port}/live/${key}`;
  const args = ['-v', 'error', '-y', '-f', 'flv', '-listen', '1', '-i', url, '-c', 'copy', '-copyts', path];
  const child = spawn(ffmpegPath!, args, { stdio: 'ignore' });
  const ended = once(child, 'close');
  await until('it listens', () => isTaken(port));
  return { process: child, ended };
};

/** A connection would be taken for the sender's. */
const isTaken = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(true));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(false)));
  });

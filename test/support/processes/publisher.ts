import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { ffmpegPath } from '../media/ffmpeg-command.js';
import { fixture } from '../media/fixtures.js';

export interface Publisher {
  readonly process: ChildProcess;
  /** All that it has written, when it has ended. */
  readonly output: Promise<string>;
}

/** Publishes with the system's FFmpeg over RTMP or SRT. `args` are those before the URL. */
export const startPublisher = (url: string, args: readonly string[]): Publisher => {
  const format = url.startsWith('srt:') ? 'mpegts' : 'flv';
  const options = ['-hide_banner', '-loglevel', 'info', '-nostats', '-y', ...args, '-f', format, url];
  const child = spawn(ffmpegPath!, options, { stdio: ['ignore', 'ignore', 'pipe'] });
  let text = '';
  child.stderr.on('data', (data) => {
    text += data;
  });
  return { process: child, output: once(child, 'close').then(() => text) };
};

/** Sends a fixture of 6 s again and again, with key frames every 2 s, until it is killed. */
export const publishForever = async (url: string): Promise<Publisher> =>
  startPublisher(url, ['-re', '-stream_loop', '-1', '-i', await fixture('h264-aac.flv'), '-c', 'copy']);

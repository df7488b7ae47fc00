// A cheap load generator: raw sockets and one buffer. It runs in its own process, so that its work
// does not count as the server's.
import { fork } from 'node:child_process';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';

const CONNECTIONS = 16;
const BUFFER_BYTES = 256 * 1024;

const self = fileURLToPath(import.meta.url);

/** Requests `paths` of `url` in rotation on 16 connections for `seconds`. */
export const load = (url, paths, { seconds, authorization }) =>
  new Promise((resolve, reject) => {
    const child = fork(self, ['generate'], { serialization: 'advanced' });
    child.once('message', (result) => ('error' in result ? reject(new Error(result.error)) : resolve(result)));
    child.once('error', reject);
    child.send({ url, paths, seconds, authorization });
  });

const connection = ({ url, paths, authorization }, first, untilMs, total) =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    let next = first;
    let head = '';
    let left = 0;
    let inBody = false;
    const ask = () => {
      const path = paths[next++ % paths.length];
      const access = authorization ? `Authorization: ${authorization}\r\n` : '';
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${access}\r\n`);
    };
    const finish = () => {
      total.requests += 1;
      inBody = false;
      head = '';
      if (performance.now() < untilMs) return ask();
      socket.end();
      resolve();
    };
    const take = (length, buffer) => {
      let from = 0;
      if (!inBody) {
        head += buffer.latin1Slice(0, length);
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        if (!head.startsWith('HTTP/1.1 200')) return reject(new Error(head.slice(0, end)));
        left = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
        if (Number.isNaN(left)) return reject(new Error('an answer without content-length'));
        inBody = true;
        from = length - (head.length - end - 4);
      }
      left -= length - from;
      total.bytes += length - from;
      if (left === 0) finish();
    };
    const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
    const socket = connect({ host: hostname, port: Number(port), onread: { buffer, callback: take } }, ask);
    socket.on('error', reject);
  });

if (process.argv[2] === 'generate') {
  process.once('message', async (job) => {
    const total = { requests: 0, bytes: 0 };
    const startedMs = performance.now();
    try {
      const untilMs = startedMs + job.seconds * 1000;
      await Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => connection(job, i * 7, untilMs, total)));
      const seconds = (performance.now() - startedMs) / 1000;
      process.send({
        requestsPerSecond: total.requests / seconds,
        gigabytesPerSecond: total.bytes / seconds / 1e9,
        bytes: total.bytes,
      });
    } catch (error) {
      process.send({ error: error.message });
    }
    process.disconnect();
  });
}

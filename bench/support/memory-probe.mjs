// Loaded into every thread of a server with `--expose-gc --import`: reports live memory after a
// garbage collection.
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';

const RESPONSE_MS = 1000;

const live = () => {
  globalThis.gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

const channel = new BroadcastChannel('live-bytes').unref();
if (isMainThread) {
  let threads = 0;
  channel.onmessage = ({ data }) => {
    threads += data.live ?? 0;
  };
  process.on('message', async (text) => {
    if (text !== 'measure') return;
    threads = 0;
    channel.postMessage('measure');
    await delay(RESPONSE_MS);
    process.send({ main: live(), threads });
  });
  // The server must be able to exit without the benchmark.
  process.channel?.unref();
} else {
  channel.onmessage = ({ data }) => {
    if (data === 'measure') channel.postMessage({ live: live() });
  };
}

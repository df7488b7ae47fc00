// Connections that send many requests and read nothing. They run in a separate thread, so that the
// cost of sending does not count as delay of the server.
import { once } from 'node:events';
import { connect } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/**
 * Opens `connections` connections that send `requests` requests for `url` each. `leave` closes them
 * without reading.
 */
export const attack = async (url, [connections, requests]) => {
  const worker = new Worker(new URL(import.meta.url), { workerData: { url: String(url), connections, requests } });
  await once(worker, 'message');
  return { leave: () => worker.terminate() };
};

if (!isMainThread && workerData?.requests) {
  const { hostname, port, host, pathname } = new URL(workerData.url);
  const text = `GET ${pathname} HTTP/1.1\r\nhost: ${host}\r\n\r\n`.repeat(workerData.requests);
  const open = async () => {
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    socket.pause();
    await once(socket, 'connect');
    socket.write(text);
  };
  await Promise.all(Array.from({ length: workerData.connections }, open));
  parentPort.postMessage('open');
}

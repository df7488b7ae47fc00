import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface LossyRelay {
  readonly port: number;
  /** Datagrams that were not passed on, or twice, or late. */
  readonly counts: { dropped: number; repeated: number; delayed: number; conclusions: number };
  stop(): void;
}

const DELAY_MS = 15;
/** SRT: the last handshake of a caller, which says who it is. */
const isConclusion = (bytes: Buffer): boolean =>
  bytes.length >= 64 && bytes.readUInt32BE(0) === 0x80000000 && bytes.readUInt32BE(36) === 0xffffffff;

const bind = async (socket: Socket): Promise<number> => {
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return (socket.address() as AddressInfo).port;
};

/**
 * A network between one UDP client and a server: each twentieth datagram is lost, in both
 * directions, others arrive twice or late, until there were `faults` of these. Conclusions of SRT
 * arrive twice.
 */
export const startLossyRelay = async (serverPort: number, faults: number): Promise<LossyRelay> => {
  const open = (): Socket => createSocket({ type: 'udp4', recvBufferSize: 2 ** 20 });
  const [inner, outer] = [open(), open()];
  const counts = { dropped: 0, repeated: 0, delayed: 0, conclusions: 0 };
  let clientPort = 0;
  let isStopped = false;
  let seed = 1;
  const random = (): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 8) / 2 ** 24;
  };
  const pass = (send: () => void): void => {
    const { dropped, repeated, delayed } = counts;
    const value = dropped + repeated + delayed < faults ? random() : 1;
    if (value < 0.05) counts.dropped += 1;
    else if (value < 0.1) {
      counts.repeated += 1;
      send();
      send();
    } else if (value < 0.15) {
      counts.delayed += 1;
      setTimeout(() => isStopped || send(), DELAY_MS);
    } else send();
  };
  outer.on('message', (bytes, { port }) => {
    clientPort = port;
    const send = (): void => inner.send(bytes, serverPort, '127.0.0.1');
    if (isConclusion(bytes)) {
      counts.conclusions += 1;
      send();
      send();
    } else pass(send);
  });
  inner.on('message', (bytes) => pass(() => outer.send(bytes, clientPort, '127.0.0.1')));
  await bind(inner);
  return {
    port: await bind(outer),
    counts,
    stop: () => {
      isStopped = true;
      inner.close();
      outer.close();
    },
  };
};

import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from './free-port.js';

/** A network that breaks on demand: passes TCP connections on to a server. */
export interface CutProxy {
  readonly url: string;
  /** Where the server is to listen, also when it is started again. */
  readonly serverPort: number;
  /**
   * Cuts every connection as soon as `bytes` more were sent by clients, and holds new ones until
   * `restore`.
   * @returns when it is cut
   */
  breakAfter(bytes: number): Promise<void>;
  /** From now on nothing is passed on in either direction, and connections stay open. */
  freeze(): void;
  /** Passes held and new connections on. */
  restore(): void;
  stop(): Promise<void>;
}

const listen = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

/** @param serverPort of a server that has another such network; a free port when absent */
export const startCutProxy = async (serverPort?: number): Promise<CutProxy> => {
  const upstreamPort = serverPort ?? (await freePort());
  const sockets = new Set<Socket>();
  const held = new Set<() => void>();
  let isBroken = false;
  let left = Number.POSITIVE_INFINITY;
  let onBroken: (() => void) | undefined;

  const keep = (socket: Socket): void => {
    sockets.add(socket);
    // A cut connection is what this is for.
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  };
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((client) => {
    keep(client);
    const pass = (): void => {
      held.delete(pass);
      if (client.destroyed) return;
      const upstream = connect(upstreamPort, '127.0.0.1');
      keep(upstream);
      client.on('close', () => upstream.destroy());
      upstream.on('close', () => client.destroy());
      client.on('data', (chunk) => {
        left -= chunk.length;
        if (left > 0) return;
        left = Number.POSITIVE_INFINITY;
        isBroken = true;
        cut();
        onBroken?.();
      });
      client.pipe(upstream).pipe(client);
    };
    if (isBroken) held.add(pass);
    else pass();
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    serverPort: upstreamPort,
    breakAfter: (bytes) => {
      left = bytes;
      return new Promise((resolve) => {
        onBroken = resolve;
      });
    },
    freeze: () => {
      isBroken = true;
      for (const socket of sockets) socket.pause();
    },
    restore: () => {
      isBroken = false;
      for (const socket of sockets) socket.resume();
      for (const pass of held) pass();
    },
    stop: () => {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
};

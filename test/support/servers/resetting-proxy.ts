import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * Where a connection is reset: at the first message of a transaction, at its second statement, at
 * its COMMIT before it has reached the server, or after the server has committed and before its
 * response.
 */
export type ResetPoint = 'begin' | 'statement' | 'commit' | 'committed';
export const RESET_POINTS: readonly ResetPoint[] = ['begin', 'statement', 'commit', 'committed'];

/** A network in front of PostgreSQL that resets single connections. */
export interface ResettingProxy {
  /** The URL of a database with the network in between. */
  behind(databaseUrl: string): string;
  /** Resets the next transaction to come to `point`. @returns when it has */
  resetAt(point: ResetPoint): Promise<void>;
  /**
   * Resets the connection of the next message with this text before it has reached the
   * server. @returns when it has
   */
  resetBefore(text: string): Promise<void>;
  /** No reset any more. */
  disarm(): void;
  stop(): Promise<void>;
}

export const startResettingProxy = async (serverPort: number): Promise<ResettingProxy> => {
  const sockets = new Set<Socket>();
  let armed: { readonly point?: ResetPoint; readonly text?: string; readonly done: () => void } | undefined;

  const keep = (socket: Socket): void => {
    sockets.add(socket);
    // A reset connection is what this is for.
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    const upstream = connect(serverPort, '127.0.0.1');
    keep(client);
    keep(upstream);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    const reset = (): void => {
      armed?.done();
      armed = undefined;
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    };
    /** Statements since BEGIN; undefined outside a transaction. */
    let statements: number | undefined;
    let isCommitting = false;
    const pointOf = (chunk: Buffer): ResetPoint | undefined => {
      if (chunk.includes('begin\0')) {
        statements = 0;
        return 'begin';
      }
      if (statements === undefined) return undefined;
      const isCommit = chunk.includes('commit\0');
      if (!isCommit && !chunk.includes('rollback\0')) {
        statements += 1;
        return statements === 2 ? 'statement' : undefined;
      }
      statements = undefined;
      isCommitting = isCommit && armed?.point === 'committed';
      return isCommit ? 'commit' : undefined;
    };
    client.on('data', (chunk) => {
      const point = pointOf(chunk);
      const isDue = (point !== undefined && armed?.point === point) || (armed?.text && chunk.includes(armed.text));
      if (isDue) reset();
      else upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (isCommitting && armed?.point === 'committed') reset();
      else client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const arm = (what: { readonly point?: ResetPoint; readonly text?: string }): Promise<void> =>
    new Promise((done) => {
      armed = { ...what, done };
    });
  return {
    behind: (databaseUrl) => databaseUrl.replace(/:\d+\//, `:${port}/`),
    resetAt: (point) => arm({ point }),
    resetBefore: (text) => arm({ text }),
    disarm: () => {
      armed = undefined;
    },
    stop: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
};

import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the ephemeral ports, which begin at 32768 (Linux) or 49152. */
const [LOWEST, HIGHEST] = [10_000, 32_767];

/**
 * A port on which nothing listens. Servers of other tests listen on ephemeral ports, so none of
 * them gets this one before it is used, or while the server that uses it restarts.
 */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(LOWEST, HIGHEST + 1);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'EADDRINUSE') resolve(false);
        else reject(error);
      });
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
};

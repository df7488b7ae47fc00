import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** The operating system gives ports from 32768 on (Linux) or 49152 on to whoever asks for any. */
const [LOWEST, HIGHEST] = [10_000, 32_767];

/**
 * A port of this machine on which nothing listens. Other tests can't get it by chance before it is used, or while what uses it
 * is started again, because they get theirs from the operating system.
 */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(LOWEST, HIGHEST + 1);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
};

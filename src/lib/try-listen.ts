import { createServer } from 'node:net';

/**
 * Whether a server could listen there now: undefined, or the error of the attempt (`EADDRINUSE`,
 * `EACCES` ...).
 */
export const tryListen = (host: string, port: number): Promise<NodeJS.ErrnoException | undefined> =>
  new Promise((resolve) => {
    const server = createServer();
    server.on('error', resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });

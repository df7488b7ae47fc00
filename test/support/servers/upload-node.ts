import type { S3Settings } from '#kinora/storage/s3/object-client.js';
import { runScript } from '../processes/child.js';

const SCRIPT = `
  const { default: fastify } = await import(${JSON.stringify(import.meta.resolve('fastify'))});
  const { openDatabase } = await kinora('db/open-database.js');
  const { createQueue } = await kinora('queue/job-queue.js');
  const { wireFormat } = await kinora('api/wire-format.js');
  const { systemClock } = await kinora('lib/clock.js');
  const { ObjectClient } = await kinora('storage/s3/object-client.js');
  const { S3BlobStore } = await kinora('storage/s3/s3-blob-store.js');
  const { UploadFiles } = await kinora('uploads/upload-files.js');
  const { UploadLeases } = await kinora('uploads/upload-leases.js');
  const { UploadSessions } = await kinora('uploads/upload-sessions.js');
  const { UploadUrls } = await kinora('uploads/upload-urls.js');
  const { uploadAddress } = await kinora('http/upload/upload-address.js');
  const { url, settings, secret, localDir, partBytes, port } = JSON.parse(process.argv[1]);
  const logger = { debug() {}, info() {}, warn() {}, error: (...all) => console.error(...all), child: () => logger };
  const database = await openDatabase({ url, dataDir: '/nowhere', logger });
  const objects = await ObjectClient.open(settings);
  const blobs = await S3BlobStore.open({ objects, localDir, maxLocalBytes: 2 ** 20, partBytes });
  const context = { database, queue: createQueue(database), clock: systemClock, wire: wireFormat };
  const files = new UploadFiles({ context, blobs, logger });
  const leases = new UploadLeases(database);
  const sessions = new UploadSessions({ context, blobs, files, leases, logger, maxBytes: 2 ** 30 });
  await leases.start((id) => void sessions.release(id));
  const app = fastify();
  const urls = new UploadUrls(secret, () => \`http://127.0.0.1:\${port}\`);
  await app.register(uploadAddress({ database, sessions, urls }));
  await app.listen({ host: '127.0.0.1', port });
  console.log('ready');`;

export interface UploadNode {
  readonly url: string;
  /**
   * Ends the process as a power cut would, and starts another one at the same address with an empty
   * disk.
   */
  killAndRestart(): Promise<void>;
  stop(): Promise<void>;
}

export interface UploadNodeOptions {
  /** Of a migrated database. */
  readonly url: string;
  readonly settings: S3Settings;
  /** Of the installation. */
  readonly secret: string;
  readonly localDir: string;
  readonly partBytes: number;
  readonly port: number;
}

/** Only the upload URLs of a server with blobs in S3: as many as needed on one database. */
export const startUploadNode = async (options: UploadNodeOptions): Promise<UploadNode> => {
  const start = async () => {
    const child = runScript(SCRIPT, [JSON.stringify(options)]);
    await child.waitForLine('ready');
    return child;
  };
  let child = await start();
  const kill = async (): Promise<void> => {
    child.process.kill('SIGKILL');
    await child.closed;
  };
  return {
    url: `http://127.0.0.1:${options.port}`,
    killAndRestart: async () => {
      await kill();
      child = await start();
    },
    stop: kill,
  };
};

// Runs as a separate process, with the new directory as its argument, so that all memory used by
// `initdb` is returned to the system.
import { closeWorker, startWorker } from './pglite-thread.js';

const worker = await startWorker(process.argv[2]!, (starting) => {
  // The server was killed: a new server may already use the directory, so this process must stop
  // writing to it.
  process.once('disconnect', () => void starting.terminate());
});
await closeWorker(worker);
process.disconnect();

// Run as a process of its own with the directory to make: the memory that `initdb` takes goes back to the system whole.
import { closeWorker, startWorker } from './pglite.js';

const worker = await startWorker(process.argv[2]!, (starting) => {
  // The server was killed: nobody may write to the directory beside the next one.
  process.once('disconnect', () => void starting.terminate());
});
await closeWorker(worker);
process.disconnect();

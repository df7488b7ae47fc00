import { handlers } from './handlers.js';
import { lowerPriority } from './ipc/lower-priority.js';
import { serveJobs } from './ipc/serve-jobs.js';

/** Answers jobs until the parent exits, then ends the process. */
export const serve = async (): Promise<void> => {
  if (process.argv[2] === 'background') lowerPriority();
  await serveJobs(handlers);
  process.exit(0);
};

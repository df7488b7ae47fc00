import { constants, setPriority } from 'node:os';
import { handlers } from './handlers.js';
import { serveJobs } from './ipc/serve-jobs.js';

/** Answers jobs until the parent exits, then ends the process. */
export const serve = async (): Promise<void> => {
  if (process.argv[2] === 'background') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  await serveJobs(handlers);
  process.exit(0);
};

import { constants, setPriority } from 'node:os';
import { handlers } from './handlers.js';
import { serveJobs } from './serve-jobs.js';

// The server is gone: nobody waits for results any more.
process.once('disconnect', () => process.exit(0));
if (process.argv[2] === 'background') setPriority(constants.priority.PRIORITY_LOW);
serveJobs(handlers);

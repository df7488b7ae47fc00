import { constants, setPriority } from 'node:os';
import { handlers } from './handlers.js';
import { serveJobs } from './ipc/serve-jobs.js';

if (process.argv[2] === 'background') setPriority(constants.priority.PRIORITY_LOW);
await serveJobs(handlers);
process.exit(0);

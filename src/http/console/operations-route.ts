import type { FastifyInstance } from 'fastify';
import pTimeout from 'p-timeout';
import { type ListedJob, listJobs } from '../../db/tables/server/list-jobs.js';
import { lastOf } from '../../lib/last-of.js';
import { findSession } from '../plugins/find-session.js';
import type { ConsoleDeps } from './console-deps.js';
import { requireAdministrator } from './require-permission.js';

const CHECK_LIMIT = { milliseconds: 3000, message: 'no answer within 3000 ms' };
const MAX_JOBS = 100;

/**
 * What the server does at the moment: its figures, its readiness checks, and its jobs, those of one
 * asset on request.
 */
export const operationsRoute = (app: FastifyInstance, deps: ConsoleDeps): void => {
  const { database, sessions, checks } = deps;
  app.get('/operations', async (request) => {
    requireAdministrator(await findSession(request, sessions));
    const assetId = lastOf((request.query as { asset_id?: unknown }).asset_id);
    const [server, jobs, results] = await Promise.all([
      deps.readFigures(),
      listJobs(database.queryable, { assetId, limit: MAX_JOBS }),
      Promise.all(Object.entries(checks).map(([name, check]) => runCheck(name, check))),
    ]);
    return { server, checks: results, jobs: jobs.map(showJob) };
  });
};

const runCheck = async (name: string, check: () => Promise<unknown>): Promise<object> => {
  try {
    await pTimeout(check(), CHECK_LIMIT);
    return { name, status: 'ok' };
  } catch (error) {
    return { name, status: 'failed', problem: error instanceof Error ? error.message : String(error) };
  }
};

const showJob = (job: ListedJob): object => ({
  ...job,
  created_at: job.created_at.toISOString(),
  run_at: job.run_at.toISOString(),
  finished_at: job.finished_at?.toISOString() ?? null,
});

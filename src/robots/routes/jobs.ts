import type { DomainContext } from '../../domain/context.js';
import type { Route } from '../../http/plugins/operation-route.js';
import type { RobotsOperationId } from '../api/operations.js';
import { serializeRobotsJob, serializeRobotsJobSummary } from '../api/serialize.js';
import { validateRobotsJob, validateRobotsJobQuery } from '../api/validate-job.js';
import type { WorkflowName } from '../api/workflows.js';
import { cancelRobotsJob, createRobotsJob, getRobotsJob, listRobotsJobs } from '../jobs/jobs.js';

export const robotsJobRoutes = (route: Route<RobotsOperationId>, context: DomainContext): void => {
  route('createRobotsJob', async ({ caller, params, body }) => {
    const request = validateRobotsJob(workflowOf(params), body ?? {});
    return { data: serializeRobotsJob(await createRobotsJob(context, caller.environment.id, request)) };
  });

  route('listRobotsJobs', async ({ caller, query }) => {
    const { jobs, total } = await listRobotsJobs(context, caller.environment.id, validateRobotsJobQuery(query));
    const apiUrl = context.apiUrl();
    return { data: jobs.map((job) => serializeRobotsJobSummary(apiUrl, job)), total_row_count: total };
  });

  route('getRobotsJob', async ({ caller, params }) => {
    const workflow = workflowOf(params);
    return { data: serializeRobotsJob(await getRobotsJob(context, caller.environment.id, params.jobId!, workflow)) };
  });

  route('cancelRobotsJob', async ({ caller, params }) => {
    const job = await cancelRobotsJob(context, caller.environment.id, params.jobId!);
    return { data: serializeRobotsJobSummary(context.apiUrl(), job) };
  });
};

/** The router only accepts known workflows. */
const workflowOf = ({ workflow }: Readonly<Record<string, string>>): WorkflowName => workflow as WorkflowName;

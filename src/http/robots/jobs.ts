import type { WorkflowName } from '../../api/schemas/workflows.js';
import { serializeRobotsJob, serializeRobotsJobSummary } from '../../api/serialize/robots.js';
import { validateRobotsJob, validateRobotsJobQuery } from '../../api/validate/robots-job.js';
import type { DomainContext } from '../../domain/context.js';
import { cancelRobotsJob, createRobotsJob, getRobotsJob, listRobotsJobs } from '../../domain/robots/jobs.js';
import type { Route } from '../plugins/operation-route.js';

export const robotsJobRoutes = (route: Route, context: DomainContext): void => {
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

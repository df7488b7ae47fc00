import { Type } from 'typebox';
import { type Description, paging } from '../../api/openapi/description.js';
import { one } from '../../api/schemas/response.js';
import { directiveExample } from './examples.js';
import type { RobotsOperationId } from './operations.js';
import { DirectiveBody, RobotsJobBody, RunBody } from './requests.js';
import {
  DirectiveResponse,
  listWithCount,
  NewRunResponse,
  RobotsJobResponse,
  RobotsJobSummaryResponse,
  RunResponse,
} from './responses.js';
import { workflowNames } from './workflows.js';

const directives = { tag: 'Directives' } as const;
const jobs = { tag: 'Robots jobs' } as const;

export const robotsDescriptions = {
  createDirective: {
    ...directives,
    summary: 'Create a directive',
    details: 'Name it in `directives` when you create an asset, or run it on an existing asset.',
    body: DirectiveBody,
    example: directiveExample,
    response: one(DirectiveResponse),
  },
  listDirectives: {
    ...directives,
    summary: 'List directives',
    details: 'Newest first.',
    query: paging(),
    response: listWithCount(DirectiveResponse),
  },
  getDirective: {
    ...directives,
    summary: 'Retrieve a directive',
    details: 'Returns the directive as it was declared.',
    response: one(DirectiveResponse),
  },
  deleteDirective: {
    ...directives,
    summary: 'Delete a directive',
    details: 'Running runs continue.',
  },
  createDirectiveRun: {
    ...directives,
    summary: 'Run a directive on an asset',
    details: 'The run waits if the asset is preparing.',
    body: RunBody,
    example: { asset_id: 'Kq3vT8sWbN1xJ6yHf0ZpR4uLdE2mC7aGKq3vT8sW' },
    response: one(NewRunResponse),
  },
  listDirectiveRuns: {
    ...directives,
    summary: 'List the runs of a directive',
    details: 'Newest first. Runs are kept for 30 days.',
    query: paging(),
    response: listWithCount(RunResponse),
  },
  getDirectiveRun: {
    ...directives,
    summary: 'Retrieve a run',
    details: 'Returns the run with the state of each of its workflows.',
    response: one(RunResponse),
  },
  createRobotsJob: {
    ...jobs,
    summary: 'Create a job',
    details: 'The workflow in the path defines the parameters.',
    body: RobotsJobBody,
    example: {
      parameters: { asset_id: 'Kq3vT8sWbN1xJ6yHf0ZpR4uLdE2mC7aGKq3vT8sW', tone: 'neutral' },
      passthrough: 'order-81',
    },
    response: one(RobotsJobResponse),
    canConflict: true,
  },
  listRobotsJobs: {
    ...jobs,
    summary: 'List jobs',
    details: 'Newest first. Jobs are kept for 30 days.',
    query: {
      ...paging(),
      workflow: Type.String({ description: `Only jobs of this workflow: ${workflowNames.join(', ')}` }),
      status: Type.String({
        description: 'Only jobs in this state: pending, processing, completed, errored or cancelled',
      }),
      asset_id: Type.String({ description: 'Only jobs of this asset' }),
    },
    response: listWithCount(RobotsJobSummaryResponse),
  },
  getRobotsJob: {
    ...jobs,
    summary: 'Retrieve a job',
    details: 'Includes its outputs when it is `completed`.',
    response: one(RobotsJobResponse),
  },
  cancelRobotsJob: {
    ...jobs,
    summary: 'Cancel a job',
    details: 'Possible while the job is `pending` or `processing`.',
    body: 'none',
    response: one(RobotsJobSummaryResponse),
    canConflict: true,
  },
} as const satisfies Record<RobotsOperationId, Description>;

export const robotsPathParameters = {
  directiveId: 'ID of the directive, which starts with `drv_`',
  runId: 'ID of the directive run, which starts with `drvrun_`',
  jobId: 'ID of the job, which starts with `rjob_`',
  workflow: 'Name of the workflow, such as `summarize`. It decides which parameters the job takes',
};

import { Type } from 'typebox';
import { id, totalRowCount } from '../../api/schemas/response.js';
import { DirectiveBody, workflowName } from './requests.js';

const { Optional, Array: List, Enum, Integer, Null, Object: Fields, String: Text, Union, Unsafe } = Type;

const unixTime = (description: string) => Integer({ description: `${description}, in Unix seconds` });
const jobStatus = () =>
  Enum(['pending', 'processing', 'completed', 'errored', 'cancelled'], {
    description: '`pending` until the job starts and `processing` while it runs. The other states are final',
  });
const Link = Fields(
  {
    self: Fields(
      { href: Text({ format: 'uri', description: 'URL of the resource in this API' }) },
      { description: 'The resource itself' },
    ),
  },
  { description: 'Links to the resource in this API' },
);
const jobId = (description = 'Unique ID of the job') => id(`${description}, which starts with \`rjob_\``);
const directiveId = (description = 'Unique ID of the directive') => id(`${description}, which starts with \`drv_\``);
const runId = (description = 'Unique ID of the run') => id(`${description}, which starts with \`drvrun_\``);
const subjectId = () => id('ID of the asset that the run works on');

export const DirectiveResponse = Fields(
  {
    id: directiveId(),
    name: DirectiveBody.properties.name,
    created_at: unixTime('When the directive was created'),
    updated_at: unixTime('When the directive last changed'),
    subject: DirectiveBody.properties.subject,
    resources: List(Unsafe({ type: 'object' }), {
      description: 'The tracks and shots that its workflows need, as in the request',
    }),
    workflows: List(Unsafe({ type: 'object' }), { description: 'The workflows that it runs, as in the request' }),
  },
  { title: 'Directive', description: 'A set of workflows that run on assets, with what they need' },
);

export const NewRunResponse = Fields(
  {
    run_id: runId(),
    status: Enum(['pending'], { description: 'State of the run. Always `pending` in this response' }),
    subject_id: subjectId(),
  },
  { title: 'NewDirectiveRun', description: 'A directive run that was just created' },
);

const NodeState = Fields({
  reference_id: Text({ description: 'Name of the workflow within the directive' }),
  status: Enum(['dispatched', 'failed', 'waiting_for_resources', 'waiting_for_source_workflow'], {
    description: 'Whether a job was started for the workflow, it failed, or it waits for resources or other workflows',
  }),
  workflow_name: Optional(workflowName()),
  job_id: Optional(jobId('ID of the job. Present when `dispatched`')),
  reason: Optional(Text({ description: 'Why the workflow failed. Present when `failed`' })),
  source_workflows: Optional(List(Text(), { description: 'The workflows that this one waits for, by `reference_id`' })),
});

export const RunResponse = Fields(
  {
    run_id: runId(),
    subject_id: subjectId(),
    status: Enum(['pending', 'dispatching', 'running', 'waiting', 'completed', 'partial', 'errored'], {
      description:
        'State of the run. It ends as `completed` if all of its jobs did, `partial` if some did, `errored` if none did',
    }),
    started_at: unixTime('When the run was created'),
    completed_at: Union([Integer(), Null()], {
      description: 'When the run ended, in Unix seconds; `null` while it continues',
    }),
    node_states: List(NodeState, { description: 'State of each workflow, in the order of the directive' }),
  },
  { title: 'DirectiveRun', description: 'A directive at work on one asset' },
);

export const RobotsJobResponse = Fields(
  {
    id: jobId(),
    workflow: workflowName(),
    status: jobStatus(),
    units_consumed: Integer({ description: 'Always 0, because nothing is billed' }),
    created_at: unixTime('When the job was created'),
    updated_at: unixTime('When its `status` last changed'),
    passthrough: Optional(Text({ description: 'The `passthrough` of the request. Present when set' })),
    parameters: Unsafe({ type: 'object', description: 'The parameters of the request. Defaults are not filled in' }),
    outputs: Optional(
      Unsafe({
        type: 'object',
        description:
          'The result, with the fields of the workflow, such as `title`, `description` and `tags` of `summarize`. Present when `completed`',
      }),
    ),
    errors: Optional(
      List(
        Fields({
          type: Text({ description: 'Kind of error, such as `provider_unavailable`' }),
          message: Text({ description: 'What went wrong, in a sentence' }),
          retryable: Optional(Type.Boolean({ description: 'Whether the same job may succeed later' })),
        }),
        { description: 'Why the job failed. Present when `errored`' },
      ),
    ),
    directive: Optional(
      Fields(
        { id: directiveId('ID of the directive'), run_id: runId('ID of the run') },
        { description: 'The directive run that started the job. Absent for jobs of your own' },
      ),
    ),
    resources: Optional(
      Fields(
        {
          assets: List(
            Fields({
              id: id('ID of the asset'),
              meta: Optional(Unsafe({ type: 'object', description: 'The `meta` of the asset. Present when set' })),
              passthrough: Optional(Text({ description: 'The `passthrough` of the asset. Present when set' })),
              _links: Link,
            }),
            { description: 'The assets that the job works on' },
          ),
        },
        { description: 'The resources that the job works on' },
      ),
    ),
  },
  { title: 'RobotsJob', description: 'One run of a workflow on an asset' },
);

export const RobotsJobSummaryResponse = Fields(
  {
    id: jobId(),
    workflow: workflowName(),
    status: jobStatus(),
    created_at: unixTime('When the job was created'),
    updated_at: unixTime('When its `status` last changed'),
    _links: Link,
  },
  { title: 'RobotsJobSummary', description: 'A job without its parameters and outputs' },
);

export const listWithCount = (resource: Parameters<typeof List>[0]) =>
  Fields({
    data: List(resource, { description: 'The resources on this page, newest first' }),
    total_row_count: totalRowCount(),
  });

import { Type } from 'typebox';
import { id } from './answer.js';
import { DirectiveBody } from './directive.js';
import { type WorkflowName, workflowNames } from './workflows.js';

const { Optional, Array: List, Enum, Integer, Null, Object: Fields, String: Text, Union, Unsafe } = Type;

const seconds = (description = 'Unix seconds') => Integer({ description });
const workflow = () => Enum(workflowNames as unknown as [WorkflowName, ...WorkflowName[]]);
const jobStatus = () => Enum(['pending', 'processing', 'completed', 'errored', 'cancelled']);
const Link = Fields({ self: Fields({ href: Text({ format: 'uri' }) }) });

export const DirectiveAnswer = Fields(
  {
    id: id('`drv_…`'),
    name: DirectiveBody.properties.name,
    created_at: seconds(),
    updated_at: seconds(),
    subject: DirectiveBody.properties.subject,
    resources: List(Unsafe({ type: 'object' }), { description: 'As declared' }),
    workflows: List(Unsafe({ type: 'object' }), { description: 'As declared' }),
  },
  { title: 'Directive' },
);

export const NewRunAnswer = Fields(
  { run_id: id('`drvrun_…`'), status: Enum(['pending']), subject_id: id('Of the asset') },
  { title: 'NewDirectiveRun' },
);

const NodeState = Fields({
  reference_id: Text(),
  status: Enum(['dispatched', 'failed', 'waiting_for_resources', 'waiting_for_source_workflow']),
  workflow_name: Optional(workflow()),
  job_id: Optional(id()),
  reason: Optional(Text()),
  source_workflows: Optional(List(Text())),
});

export const RunAnswer = Fields(
  {
    run_id: id('`drvrun_…`'),
    subject_id: id('Of the asset'),
    status: Enum(['pending', 'dispatching', 'running', 'waiting', 'completed', 'partial', 'errored']),
    started_at: seconds(),
    completed_at: Union([Integer(), Null()], { description: 'Unix seconds; null while the run continues' }),
    node_states: List(NodeState, { description: 'One per workflow, in the order of the directive' }),
  },
  { title: 'DirectiveRun' },
);

export const RobotsJobAnswer = Fields(
  {
    id: id('`rjob_…`'),
    workflow: workflow(),
    status: jobStatus(),
    units_consumed: Integer({ description: 'Always 0' }),
    created_at: seconds(),
    updated_at: seconds('Unix seconds of the last change of `status`'),
    passthrough: Optional(Text()),
    parameters: Unsafe({ type: 'object', description: 'The parameters of the request' }),
    outputs: Optional(Unsafe({ type: 'object', description: 'Present when `completed`' })),
    errors: Optional(
      List(Fields({ type: Text(), message: Text(), retryable: Optional(Type.Boolean()) }), {
        description: 'Present when `errored`',
      }),
    ),
    directive: Optional(Fields({ id: id(), run_id: id() }, { description: 'The directive run that started the job' })),
    resources: Optional(
      Fields({
        assets: List(
          Fields({
            id: id(),
            meta: Optional(Unsafe({ type: 'object' })),
            passthrough: Optional(Text()),
            _links: Link,
          }),
        ),
      }),
    ),
  },
  { title: 'RobotsJob' },
);

export const RobotsJobSummaryAnswer = Fields(
  {
    id: id(),
    workflow: workflow(),
    status: jobStatus(),
    created_at: seconds(),
    updated_at: seconds(),
    _links: Link,
  },
  { title: 'RobotsJobSummary' },
);

export const listWithCount = (resource: Parameters<typeof List>[0]) =>
  Fields({ data: List(resource), total_row_count: Integer() });

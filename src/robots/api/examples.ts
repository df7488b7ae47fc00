const ASSET_ID = 'Kq3vT8sWbN1xJ6yHf0ZpR4uLdE2mC7aGKq3vT8sW';
const DIRECTIVE_ID = 'drv_7tQm2XcLp9RwZ5vB';
const RUN_ID = 'drvrun_4sKn8YhTq1LbV6xC';
const JOB_ID = 'rjob_9wZr3MdFk5PvX7nG';
const CREATED_AT = 1_767_225_600;
const DONE_AT = 1_767_225_642;

const job = {
  id: JOB_ID,
  workflow: 'summarize',
  status: 'completed',
  created_at: CREATED_AT,
  updated_at: DONE_AT,
};
const linkTo = (path: string) => ({ self: { href: `https://video.example.org${path}` } });

/** What a directive is created with. */
export const directiveExample = {
  name: 'Caption and summarize',
  subject: { type: 'video.asset' },
  resources: [
    {
      reference_id: 'en_captions',
      type: 'video.asset.track',
      kind: 'caption',
      language: 'en',
      source: { via: 'mux_api', action: 'generate_subtitles', params: { language_code: 'en' } },
    },
  ],
  workflows: [{ reference_id: 'sum', workflow: 'summarize', inputs: ['en_captions'], params: { tone: 'neutral' } }],
};

/** Resources of the Robots API by the title of their schema. */
export const robotsExamples = {
  Directive: {
    id: DIRECTIVE_ID,
    ...directiveExample,
    created_at: CREATED_AT,
    updated_at: CREATED_AT,
  },
  NewDirectiveRun: { run_id: RUN_ID, status: 'pending', subject_id: ASSET_ID },
  DirectiveRun: {
    run_id: RUN_ID,
    subject_id: ASSET_ID,
    status: 'running',
    started_at: CREATED_AT,
    completed_at: null,
    node_states: [{ reference_id: 'sum', status: 'dispatched', workflow_name: 'summarize', job_id: JOB_ID }],
  },
  RobotsJob: {
    ...job,
    units_consumed: 0,
    passthrough: 'order-81',
    parameters: { asset_id: ASSET_ID, tone: 'neutral' },
    outputs: {
      title: 'A walk along the harbor',
      description: 'Boats return in the evening while gulls follow them.',
      tags: ['harbor', 'boats', 'evening'],
    },
    resources: {
      assets: [{ id: ASSET_ID, meta: { title: 'Harbor walk' }, _links: linkTo(`/video/v1/assets/${ASSET_ID}`) }],
    },
  },
  RobotsJobSummary: { ...job, _links: linkTo(`/robots/v0/jobs/summarize/${JOB_ID}`) },
};

const { outputs: _, ...unfinishedJob } = robotsExamples.RobotsJob;

/** Jobs right after an operation. */
export const robotsExamplesAfter = {
  createRobotsJob: { ...unfinishedJob, status: 'pending', updated_at: CREATED_AT },
  cancelRobotsJob: { ...robotsExamples.RobotsJobSummary, status: 'cancelled' },
};

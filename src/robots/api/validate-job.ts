import { Type } from 'typebox';
import { readPage } from '../../api/validate/list-query.js';
import { requireJsonObject, validate } from '../../api/validate/validate.js';
import type { PageQuery } from '../../domain/requests/list-query.js';
import { lastOf } from '../../lib/last-of.js';
import { isObject, type Path, Problems } from '../../lib/problems.js';
import { jobPassthrough } from './requests.js';
import { jobParameters, type WorkflowName, workflowNames } from './workflows.js';

/** A valid request for a job; the resources it refers to are not yet looked up. */
export interface RobotsJobRequest {
  readonly workflow: WorkflowName;
  readonly parameters: { readonly asset_id: string; readonly [name: string]: unknown };
  readonly passthrough?: string;
}

/**
 * Body of POST /robots/v0/jobs/{workflow}.
 * @throws KinoraError `invalid_parameters`
 */
export const validateRobotsJob = (workflow: WorkflowName, body: unknown): RobotsJobRequest => {
  const problems = new Problems();
  const rawBody = requireJsonObject(body);
  // Without `parameters`, the answer lists the missing required parameters.
  const full = { ...rawBody, parameters: rawBody.parameters ?? {} };
  const schema = Type.Object({ parameters: jobParameters(workflow), passthrough: jobPassthrough() });
  const { parameters, passthrough } = validate(schema, full, [], problems);
  const params = (isObject(parameters) ? parameters : {}) as Record<string, unknown>;
  validateParamsTogether(workflow, params, problems.below(['parameters']));
  problems.throwIfAny(body);
  return {
    workflow,
    parameters: params as RobotsJobRequest['parameters'],
    ...(passthrough !== undefined && { passthrough }),
  };
};

type Params = Readonly<Record<string, unknown>>;

/** Checks the rules between the parameters of a workflow, and those of its time range. */
export const validateParamsTogether = (workflow: WorkflowName, params: Params, problems: Problems): void => {
  validateScope(params, problems);
  if (workflow === 'ask-questions') validateQuestions(params, problems);
  if (workflow === 'find-key-moments') validateDurations(params, problems);
  if (workflow === 'generate-premium-captions') validateCaptions(params, problems);
};

const validateCaptions = (params: Params, problems: Problems): void => {
  if (params.upload_to_mux === false && params.replace_existing === true)
    problems.addSentence(['replace_existing'], `${problems.nameOf(['replace_existing'])} needs upload_to_mux`);
  // None of the supported recognizers can identify speakers.
  if (params.include_speakers === true) problems.add(['include_speakers'], 'is not yet supported by this server');
};

const validateScope = ({ output_steering: steering }: Params, problems: Problems): void => {
  if (!isObject(steering) || steering.scope == null) return;
  const path: Path = ['output_steering', 'scope'];
  const { scope } = steering;
  if (!isObject(scope)) {
    problems.add(path, 'must be an object');
    return;
  }
  const { start_time: start, end_time: end } = scope;
  for (const [name, value] of Object.entries({ start_time: start, end_time: end }))
    if (value != null && !(Number.isFinite(value) && (value as number) >= 0))
      problems.add([...path, name], 'must be a number greater than or equal to 0');
  if (typeof start === 'number' && typeof end === 'number' && end <= start)
    problems.add([...path, 'end_time'], 'must be greater than start_time');
};

const validateQuestions = ({ questions }: Params, problems: Problems): void => {
  if (!Array.isArray(questions)) return;
  questions.forEach((question: unknown, at) => {
    if (!isObject(question)) return;
    if (question.free_form_reply !== true || question.answer_options === undefined) return;
    const names = ['answer_options', 'free_form_reply'].map((name) => problems.nameOf(['questions', at, name]));
    problems.addSentence(['questions', at, 'free_form_reply'], `${names.join(' and ')} cannot be used together`);
  });
};

const validateDurations = ({ target_duration_ms: target }: Params, problems: Problems): void => {
  if (isObject(target) && typeof target.min === 'number' && typeof target.max === 'number' && target.max < target.min)
    problems.add(['target_duration_ms', 'max'], 'must be greater than or equal to min');
};

const STATUSES = ['pending', 'processing', 'completed', 'errored', 'cancelled'] as const;

export interface RobotsJobQuery {
  readonly page: PageQuery;
  readonly workflow?: WorkflowName | undefined;
  readonly status?: (typeof STATUSES)[number] | undefined;
  readonly assetId?: string | undefined;
}

/** Query of GET /robots/v0/jobs. @throws KinoraError `invalid_parameters` */
export const validateRobotsJobQuery = (query: Readonly<Record<string, unknown>>): RobotsJobQuery => {
  const problems = new Problems();
  const page = readPage(query, problems);
  const oneOf = <T extends string>(name: string, values: readonly T[]): T | undefined => {
    const text = lastOf(query[name]);
    if (text === undefined || text === '') return undefined;
    if (!(values as readonly string[]).includes(text)) problems.add([name], `must be one of: ${values.join(', ')}`);
    return text as T;
  };
  const workflow = oneOf('workflow', workflowNames);
  const status = oneOf('status', STATUSES);
  problems.throwIfAny(query);
  return { page, workflow, status, assetId: lastOf(query.asset_id) || undefined };
};

import type { Static } from 'typebox';
import { requireJsonObject, validate } from '../../api/validate/validate.js';
import { assetIdOfUrl } from '../../domain/requests/inputs.js';
import { isObject, Problems } from '../../lib/problems.js';
import {
  ACTIONS,
  actionParams,
  bindingParams,
  DirectiveBody,
  type DirectiveRequest,
  RunBody,
  VIAS,
} from './requests.js';
import { validateParamsTogether } from './validate-job.js';
import { isWorkflowName } from './workflows.js';

type Body = Static<typeof DirectiveBody>;
type Source = NonNullable<NonNullable<Body['resources']>[number]['source']>;

/**
 * Body of POST /robots/v0/directives.
 * @throws KinoraError `invalid_parameters`
 */
export const validateDirective = (body: unknown): DirectiveRequest => {
  const problems = new Problems();
  const { name, subject, resources = [], workflows } = validate(DirectiveBody, requireJsonObject(body), [], problems);
  if (subject?.type === 'video.live_stream')
    problems.addSentence(['subject', 'type'], 'subject.type video.live_stream is not supported');
  const checkedResources = resources.map((resource, at) =>
    validateResource(resource, problems.below(['resources', at])),
  );
  const checkedWorkflows = (Array.isArray(workflows) ? workflows : []).map((binding, at) => {
    const below = problems.below(['workflows', at]);
    if (!isObject(binding) || !isWorkflowName(binding.workflow) || below.has(['params'])) return binding;
    const givenParams = { ...(binding.params as object | undefined) };
    const params = validate(bindingParams(binding.workflow), givenParams, ['params'], below) as Record<string, unknown>;
    validateParamsTogether(binding.workflow, params, below.below(['params']));
    return { ...binding, ...(binding.params !== undefined && { params }) };
  });
  validateReferences(resources, checkedWorkflows, problems);
  problems.throwIfAny(body);
  return { name, resources: checkedResources, workflows: checkedWorkflows } as DirectiveRequest;
};

const validateResource = (resource: NonNullable<Body['resources']>[number], problems: Problems): object => {
  if (!isObject(resource)) return {};
  const { reference_id, type, kind, language, source } = resource;
  const isTrack = type === 'video.asset.track';
  if (isTrack && kind === undefined) problems.add(['kind'], 'is required');
  return {
    reference_id,
    type,
    ...(isTrack && { kind, ...(language !== undefined && { language }) }),
    ...(source !== undefined && {
      source: validateSource(source, isTrack ? kind : 'shots', problems.below(['source'])),
    }),
  };
};

const validateSource = (source: Source, kind: string | undefined, problems: Problems): object => {
  const { via, binding, action, params } = source;
  if (via === 'workflow') {
    if (binding === undefined) problems.add(['binding'], 'is required');
    return { via, binding };
  }
  if (via !== 'mux_api' || !VIAS.includes(via)) return { via };
  if (action === undefined || !ACTIONS.includes(action)) {
    if (action === undefined) problems.add(['action'], 'is required');
    return { via };
  }
  const checked = validate(actionParams[action], { ...params }, ['params'], problems) as Record<string, unknown>;
  const { url, type } = checked;
  if (typeof url === 'string' && assetIdOfUrl(url)) problems.add(['params', 'url'], 'cannot refer to an asset');
  const makes = {
    generate_subtitles: 'caption',
    request_shots: 'shots',
    create_track: type === 'audio' ? 'audio' : 'caption',
  };
  if (kind !== undefined && makes[action] !== kind)
    problems.addSentence(['action'], `${problems.nameOf(['action'])} ${action} does not make this resource`);
  return { via, action, ...(params !== undefined && { params: checked }) };
};

interface Graph {
  readonly reference_id: string;
  readonly inputs?: readonly string[];
}

/**
 * Checks the references: every name is unique, every reference is known, and there are no cycles.
 */
const validateReferences = (
  resources: NonNullable<Body['resources']>,
  workflows: readonly Graph[],
  problems: Problems,
): void => {
  const all = [
    ...resources.map(({ reference_id }, at) => ({ id: reference_id, path: ['resources', at, 'reference_id'] })),
    ...workflows.map(({ reference_id }, at) => ({ id: reference_id, path: ['workflows', at, 'reference_id'] })),
  ].filter(({ id }) => typeof id === 'string');
  const seen = new Set<string>();
  for (const { id, path } of all) {
    if (seen.has(id)) problems.addSentence(path, `reference_id must be unique: ${id}`);
    seen.add(id);
  }
  const makers = new Map<string, string | undefined>();
  resources.forEach((resource, at) => {
    const { source, reference_id } = resource;
    const binding = source?.via === 'workflow' ? source.binding : undefined;
    makers.set(reference_id, binding);
    if (typeof binding === 'string' && !workflows.some((workflow) => workflow.reference_id === binding))
      problems.addSentence(['resources', at, 'source', 'binding'], `unknown reference_id: ${binding}`);
  });
  workflows.forEach(({ inputs = [] }, at) => {
    inputs.forEach((input, number) => {
      if (typeof input === 'string' && !makers.has(input))
        problems.addSentence(['workflows', at, 'inputs', number], `unknown reference_id: ${input}`);
    });
  });
  if (hasCycle(workflows, makers)) problems.addSentence(['workflows'], 'workflows contain a dependency cycle');
};

const hasCycle = (workflows: readonly Graph[], makers: ReadonlyMap<string, string | undefined>): boolean => {
  const inputsOf = new Map(workflows.map(({ reference_id, inputs }) => [reference_id, inputs ?? []]));
  const ended = new Set<string>();
  const open = new Set<string>();
  const visit = (id: string): boolean => {
    if (open.has(id)) return true;
    if (ended.has(id)) return false;
    open.add(id);
    const isProduced = (inputsOf.get(id) ?? []).some((input) => {
      const maker = makers.get(input);
      return maker !== undefined && visit(maker);
    });
    open.delete(id);
    ended.add(id);
    return isProduced;
  };
  return [...inputsOf.keys()].some(visit);
};

/** Body of POST …/runs. @throws KinoraError `invalid_parameters` */
export const validateRun = (body: unknown): string => {
  const problems = new Problems();
  const { asset_id: assetId } = validate(RunBody, requireJsonObject(body), [], problems);
  problems.throwIfAny(body);
  return assetId;
};

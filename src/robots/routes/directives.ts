import { readPageQuery } from '../../api/validate/list-query.js';
import type { DomainContext } from '../../domain/context.js';
import type { Route } from '../../http/plugins/operation-route.js';
import type { RobotsOperationId } from '../api/operations.js';
import { serializeDirective, serializeNewRun, serializeRun } from '../api/serialize.js';
import { validateDirective, validateRun } from '../api/validate-directive.js';
import { createDirective, deleteDirective, getDirective, listDirectives } from '../directives/directives.js';
import { createRun, getRun, listRuns } from '../directives/runs.js';

export const directiveRoutes = (route: Route<RobotsOperationId>, context: DomainContext): void => {
  route('createDirective', async ({ caller, body }) => ({
    data: serializeDirective(await createDirective(context, caller.environment.id, validateDirective(body ?? {}))),
  }));

  route('listDirectives', async ({ caller, query }) => {
    const { directives, total } = await listDirectives(context, caller.environment.id, readPageQuery(query));
    return { data: directives.map(serializeDirective), total_row_count: total };
  });

  route('getDirective', async ({ caller, params }) => ({
    data: serializeDirective(await getDirective(context, caller.environment.id, params.directiveId!)),
  }));

  route('deleteDirective', async ({ caller, params }) => {
    await deleteDirective(context, caller.environment.id, params.directiveId!);
    return undefined;
  });

  route('createDirectiveRun', async ({ caller, params, body }) => {
    const directive = await getDirective(context, caller.environment.id, params.directiveId!);
    const assetId = validateRun(body ?? {});
    return { data: serializeNewRun(await createRun(context, caller.environment.id, directive, assetId)) };
  });

  route('listDirectiveRuns', async ({ caller, params, query }) => {
    const directive = await getDirective(context, caller.environment.id, params.directiveId!);
    const { runs, total } = await listRuns(context, directive.id, readPageQuery(query));
    return { data: runs.map(serializeRun), total_row_count: total };
  });

  route('getDirectiveRun', async ({ caller, params }) => {
    const directive = await getDirective(context, caller.environment.id, params.directiveId!);
    return { data: serializeRun(await getRun(context, directive.id, params.runId!)) };
  });
};

import { readPage } from '../../api/validate/list-query.js';
import type { DomainContext } from '../../domain/context.js';
import type { ApiRequest, Route } from '../../http/plugins/operation-route.js';
import { KinoraError } from '../../lib/errors.js';
import { isUuid, newUuid } from '../../lib/ids.js';
import { Problems } from '../../lib/problems.js';
import { serializeAnnotation, validateAnnotation } from '../api/annotations-api.js';
import { readDirection } from '../requests/query-values.js';
import { readViewTimeframe } from '../requests/timeframe.js';
import {
  countAnnotations,
  findAnnotation,
  insertAnnotation,
  listAnnotations,
  removeAnnotation,
  updateAnnotation,
} from '../tables/annotation.js';

export const annotationRoutes = (route: Route<string>, { database, clock }: DomainContext): void => {
  const db = database.queryable;

  /** @throws KinoraError `not_found` */
  const getAnnotation = async ({ caller, params }: ApiRequest) => {
    const id = params.annotationId!;
    const annotation = isUuid(id) ? await findAnnotation(db, caller.environment.id, id) : undefined;
    if (!annotation) throw new KinoraError('not_found');
    return annotation;
  };

  route('listAnnotations', async ({ caller, query }) => {
    const problems = new Problems();
    const page = readPage(query, problems);
    const direction = readDirection(query, problems) ?? 'desc';
    const timeframe = readViewTimeframe(query, clock.now(), problems);
    problems.throwIfAny(query);
    const environmentId = caller.environment.id;
    const rows = await listAnnotations(db, environmentId, timeframe, { ...page, direction });
    const total = await countAnnotations(db, environmentId, timeframe);
    const { page: number, limit } = page;
    return { data: rows.map(serializeAnnotation), total_row_count: total, page: number, limit, timeframe };
  });

  route('createAnnotation', async ({ caller, body }) => {
    const { date, note, sub_property_id = null } = validateAnnotation(body ?? {});
    const annotation = await insertAnnotation(db, {
      ...{ id: newUuid(), environment_id: caller.environment.id, created_at: clock.now() },
      ...{ date: new Date(date * 1000), note, sub_property_id },
    });
    return { data: serializeAnnotation(annotation) };
  });

  route('getAnnotation', async (request) => ({ data: serializeAnnotation(await getAnnotation(request)) }));

  route('updateAnnotation', async (request) => {
    const { id, environment_id, ...before } = await getAnnotation(request);
    const { date, note, sub_property_id = before.sub_property_id } = validateAnnotation(request.body ?? {});
    const change = { date: new Date(date * 1000), note, sub_property_id };
    const annotation = await updateAnnotation(db, environment_id, id, change);
    if (!annotation) throw new KinoraError('not_found');
    return { data: serializeAnnotation(annotation) };
  });

  route('deleteAnnotation', async ({ caller, params }) => {
    const id = params.annotationId!;
    if (!isUuid(id) || !(await removeAnnotation(db, caller.environment.id, id))) throw new KinoraError('not_found');
    return undefined;
  });
};

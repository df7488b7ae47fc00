import { serializeDeliveryBudget } from '../../api/responses/delivery-budget.js';
import {
  readBudgetTarget,
  validateCreateDeliveryBudget,
  validatePublicRestriction,
  validateUpdateDeliveryBudget,
} from '../../api/validate/delivery-budget.js';
import { readPageQuery } from '../../api/validate/list-query.js';
import type { DomainContext } from '../../domain/context.js';
import { getPublicRestriction, setPublicRestriction } from '../../domain/playback/playback-restrictions.js';
import {
  changeDeliveryBudget,
  createDeliveryBudget,
  deleteDeliveryBudget,
  getDeliveryBudget,
  listDeliveryBudgets,
} from '../../domain/usage/delivery-budgets.js';
import type { Route } from '../plugins/operation-route.js';

/** How much is delivered, and to whom without a token. */
export const deliveryBudgetRoutes = (route: Route, context: DomainContext): void => {
  route('createDeliveryBudget', async ({ caller, body }) => {
    const request = validateCreateDeliveryBudget(body ?? {});
    return { data: serializeDeliveryBudget(await createDeliveryBudget(context, caller.environment.id, request)) };
  });

  route('listDeliveryBudgets', async ({ caller, query }) => {
    const page = readPageQuery(query);
    const target = readBudgetTarget(query);
    const { budgets, total } = await listDeliveryBudgets(context, caller.environment.id, page, target);
    const data = budgets.map(serializeDeliveryBudget);
    return { data, total_row_count: total, page: page.page, limit: page.limit };
  });

  route('getDeliveryBudget', async ({ caller, params }) => ({
    data: serializeDeliveryBudget(await getDeliveryBudget(context, caller.environment.id, params.deliveryBudgetId!)),
  }));

  route('updateDeliveryBudget', async ({ caller, params, body }) => {
    const { id } = await getDeliveryBudget(context, caller.environment.id, params.deliveryBudgetId!);
    const change = validateUpdateDeliveryBudget(body ?? {});
    return { data: serializeDeliveryBudget(await changeDeliveryBudget(context, caller.environment.id, id, change)) };
  });

  route('deleteDeliveryBudget', async ({ caller, params }) => {
    await deleteDeliveryBudget(context, caller.environment.id, params.deliveryBudgetId!);
    return undefined;
  });

  route('getPublicPlaybackRestriction', async ({ caller }) => ({
    data: { playback_restriction_id: await getPublicRestriction(context, caller.environment.id) },
  }));

  route('updatePublicPlaybackRestriction', async ({ caller, body }) => {
    const id = validatePublicRestriction(body ?? {});
    await setPublicRestriction(context, caller.environment.id, id);
    return { data: { playback_restriction_id: id } };
  });
};

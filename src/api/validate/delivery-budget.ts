import type { BudgetRules } from '../../domain/usage/budget-view.js';
import type { NewBudget } from '../../domain/usage/delivery-budgets.js';
import { lastOf } from '../../lib/last-of.js';
import { Problems } from '../../lib/problems.js';
import { CreateDeliveryBudgetBody, UpdateDeliveryBudgetBody } from '../schemas/delivery-budget.js';
import { requireJsonObject, validate } from './validate.js';

interface Amounts {
  readonly bytes?: number;
  readonly seconds?: number;
}

/** @throws KinoraError `invalid_parameters` */
export const validateCreateDeliveryBudget = (body: unknown): NewBudget => {
  const problems = new Problems();
  const read = validate(CreateDeliveryBudgetBody, requireJsonObject(body), [], problems);
  const { bytes, seconds } = read;
  if (bytes === undefined && seconds === undefined)
    problems.addSentence(['bytes'], 'Either bytes or seconds is required');
  rejectBoth(read, problems);
  problems.throwIfAny(body);
  const { asset_id, period, action = 'notify' } = read;
  return { assetId: asset_id ?? null, period, action, ...amountOf(read)! };
};

/** @throws KinoraError `invalid_parameters` */
export const validateUpdateDeliveryBudget = (body: unknown): Partial<BudgetRules> => {
  const problems = new Problems();
  const read = validate(UpdateDeliveryBudgetBody, requireJsonObject(body), [], problems);
  rejectBoth(read, problems);
  problems.throwIfAny(body);
  const { period, action } = read;
  return { ...(period && { period }), ...(action && { action }), ...amountOf(read) };
};

const rejectBoth = ({ bytes, seconds }: Amounts, problems: Problems): void => {
  if (bytes !== undefined && seconds !== undefined)
    problems.addSentence(['bytes'], 'bytes and seconds cannot be used together');
};

const amountOf = ({ bytes, seconds }: Amounts): Pick<BudgetRules, 'unit' | 'amount'> | undefined => {
  if (bytes !== undefined) return { unit: 'bytes', amount: bytes };
  return seconds === undefined ? undefined : { unit: 'seconds', amount: seconds };
};

/**
 * The `asset_id` of a list: null for `none`, the budgets of the environment itself; undefined for
 * all.
 */
export const readBudgetTarget = (query: Readonly<Record<string, unknown>>): string | null | undefined => {
  const assetId = lastOf(query.asset_id) || undefined;
  return assetId === 'none' ? null : assetId;
};

/** @throws KinoraError `invalid_parameters` */
export const validatePublicRestriction = (body: unknown): string | null => {
  const { playback_restriction_id: id } = requireJsonObject(body);
  const problems = new Problems();
  if (id === undefined) problems.add(['playback_restriction_id'], 'is required');
  else if (id !== null && typeof id !== 'string') problems.add(['playback_restriction_id'], 'must be a string or null');
  problems.throwIfAny(body);
  return id as string | null;
};

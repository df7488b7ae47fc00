import { queryOptions } from '@tanstack/react-query';
import { get, request } from './client';

interface BudgetRules {
  readonly period: 'day' | 'month';
  /** One of the two. */
  readonly bytes?: number;
  readonly seconds?: number;
  readonly action: 'notify' | 'step_down' | 'stop';
}

/** How much may be delivered in a day or month. */
export interface Budget extends BudgetRules {
  readonly id: string;
  readonly asset_id?: string;
  readonly delivered_bytes?: number;
  readonly delivered_seconds?: number;
  readonly status: 'within' | 'warning' | 'spent';
  /** Seconds since 1970, as text. */
  readonly period_ends_at: string;
}

const PATH = '/video/v1/delivery-budgets';

/** Those of an asset, or of the environment itself. At most two: one for each period. */
export const budgetsQuery = (assetId: string | undefined) =>
  queryOptions({
    queryKey: ['delivery_budget', 'list', assetId ?? ''],
    queryFn: ({ signal }) =>
      get<{ data: readonly Budget[] }>(PATH, { asset_id: assetId ?? 'none' }, signal).then(({ data }) => data),
  });

export const createBudget = (rules: BudgetRules & { readonly asset_id?: string | undefined }): Promise<unknown> =>
  request('POST', PATH, rules);

export const updateBudget = (id: string, change: Partial<BudgetRules>): Promise<unknown> =>
  request('PATCH', `${PATH}/${id}`, change);

export const deleteBudget = (id: string): Promise<undefined> => request('DELETE', `${PATH}/${id}`);

const PUBLIC_PATH = '/video/v1/public-playback-restriction';

/** The restriction of public playback IDs; null when everyone may play them. */
export const publicRestrictionQuery = queryOptions({
  queryKey: ['public_playback', 'list'],
  queryFn: ({ signal }) =>
    get<{ data: { playback_restriction_id: string | null } }>(PUBLIC_PATH, {}, signal).then(
      ({ data }) => data.playback_restriction_id,
    ),
});

export const setPublicRestriction = (id: string | null): Promise<unknown> =>
  request('PUT', PUBLIC_PATH, { playback_restriction_id: id });

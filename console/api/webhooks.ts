import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { get, request } from './client';

/** A receiver of events. */
export interface Webhook {
  readonly id: string;
  readonly address: string;
  readonly enabled: boolean;
  /** ISO 8601. */
  readonly created_at: string;
}

export interface Attempt {
  readonly number: number;
  readonly address: string;
  readonly created_at: string;
  readonly duration_ms: number;
  /** Absent when there was no response. */
  readonly response_status_code?: number;
  readonly response_body?: string;
  readonly error?: string;
}

/** An event on its way to one webhook. */
export interface Delivery {
  readonly id: string;
  readonly event: { readonly id: string; readonly type: string; readonly object: { type: string; id: string } };
  readonly state: 'pending' | 'succeeded' | 'failed' | 'stopped';
  readonly created_at: string;
  readonly next_attempt_at?: string;
  readonly finished_at?: string;
  readonly attempts: readonly Attempt[];
}

const PATH = '/system/v1/webhooks';
const PENDING_MS = 2_000;

export const webhooksQuery = queryOptions({
  queryKey: ['webhook', 'list'],
  queryFn: ({ signal }) => get<{ data: readonly Webhook[] }>(PATH, { limit: 100 }, signal).then(({ data }) => data),
});

export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: ['webhook', id],
    queryFn: ({ signal }) => get<{ data: Webhook }>(`${PATH}/${id}`, {}, signal).then(({ data }) => data),
  });

interface DeliveryPage {
  readonly data: readonly Delivery[];
  readonly next_cursor: string | null;
}

/** Newest first, a page at a time. */
export const deliveriesQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['webhook', id, 'deliveries'],
    queryFn: ({ signal, pageParam }) =>
      get<DeliveryPage>(`${PATH}/${id}/deliveries`, { limit: 25, cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor: cursor }) => cursor ?? undefined,
    // While something is on its way.
    refetchInterval: ({ state: { data } }) =>
      data?.pages.some((page) => page.data.some(({ state }) => state === 'pending')) ? PENDING_MS : false,
  });

export const createWebhook = (address: string): Promise<Webhook & { readonly signing_secret: string }> =>
  request<{ data: Webhook & { signing_secret: string } }>('POST', PATH, { address }).then(({ data }) => data);

export const updateWebhook = (id: string, change: { address?: string; enabled?: boolean }): Promise<Webhook> =>
  request<{ data: Webhook }>('PATCH', `${PATH}/${id}`, change).then(({ data }) => data);

export const deleteWebhook = (id: string): Promise<undefined> => request('DELETE', `${PATH}/${id}`);

/** Sends a test event at once and returns what came back. */
export const testWebhook = (id: string): Promise<Delivery> =>
  request<{ data: Delivery }>('POST', `${PATH}/${id}/test`).then(({ data }) => data);

export const redeliver = (id: string, deliveryId: string): Promise<Delivery> =>
  request<{ data: Delivery }>('POST', `${PATH}/${id}/deliveries/${deliveryId}/redeliver`).then(({ data }) => data);

import { systemClock } from '#kinora/lib/clock.js';
import { api } from '../wire/create-asset.js';
import type { Booted } from './boot.js';
import { until } from './server-process.js';

/** A clock that a test moves ahead. */
export const movableClock = () => {
  const clock = {
    aheadMs: 0,
    now: () => new Date(systemClock.now().getTime() + clock.aheadMs),
    monotonicMs: () => systemClock.monotonicMs(),
  };
  return clock;
};

export interface WireDelivery {
  readonly id: string;
  readonly state: string;
  readonly next_attempt_at?: string;
  readonly event: { readonly id: string; readonly type: string; readonly object: { readonly id: string } };
  readonly attempts: readonly {
    readonly number: number;
    readonly created_at: string;
    readonly response_status_code?: number;
    readonly response_body?: string;
    readonly error?: string;
  }[];
}

type Server = Pick<Booted, 'url' | 'token'>;

const dataOf = async <T>(response: Response): Promise<T> => {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  return (JSON.parse(text) as { data: T }).data;
};

export const createWebhook = async (
  server: Server,
  address: string,
): Promise<{ id: string; signing_secret: string; address: string }> =>
  dataOf(await api(server, 'POST', '/system/v1/webhooks', { address }));

/** Newest first, at most 100. */
export const deliveriesOf = async (server: Server, webhookId: string): Promise<WireDelivery[]> =>
  dataOf(await api(server, 'GET', `/system/v1/webhooks/${webhookId}/deliveries?limit=100`));

/** Waits until nothing of a webhook is due at the time of the clock. */
export const untilNothingIsDue = (server: Server, webhookId: string, clock: { now(): Date }): Promise<void> =>
  until('no delivery is due', async () =>
    (await deliveriesOf(server, webhookId)).every(
      ({ next_attempt_at: at }) => at === undefined || Date.parse(at) > clock.now().getTime(),
    ),
  );

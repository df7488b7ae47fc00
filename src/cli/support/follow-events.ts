import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '../../lib/backoff.js';
import { isKinoraError } from '../../lib/errors.js';
import { type ApiCall, pagesOf } from './api-client.js';

/** An event as webhooks send it. */
export interface ApiEvent {
  readonly id: string;
  readonly type: string;
  readonly created_at: string;
  readonly object: { readonly type: string; readonly id: string };
  readonly data: {
    readonly live_stream_id?: string;
    /** Of warnings. */
    readonly warning?: { readonly message: string };
    /** Of simulcast targets. */
    readonly url?: string;
  };
}

const EVENTS = '/system/v1/events';
const POLL_MS = 500;
/**
 * An event can become visible after a newer one, when its transaction ends later. Each poll looks
 * at events so much older than the newest again.
 */
const OVERLAP_MS = 10_000;
const PAUSE = { baseMs: POLL_MS, maxMs: 10_000 };

/**
 * The events that happen from now on, oldest first and each once. Waits while no server answers.
 * @param onReady called once everything that happens from then on will be found
 * @param onWaiting called when the server stops answering
 */
export async function* followEvents(
  api: ApiCall,
  { onReady, onWaiting }: { readonly onReady: () => void; readonly onWaiting: () => void },
): AsyncGenerator<ApiEvent> {
  /** The creation times of events that were seen, by ID. */
  const seen = new Map<string, number>();
  let newestMs = Number.NEGATIVE_INFINITY;
  let isFirst = true;
  for (let vainPolls = 0; ; ) {
    let events: ApiEvent[];
    try {
      events = await eventsSince(api, isFirst ? undefined : newestMs);
      vainPolls = 0;
    } catch (error) {
      // The first failure is a wrong address or token.
      if (isFirst || !isKinoraError(error, 'unavailable')) throw error;
      if (vainPolls === 0) onWaiting();
      vainPolls += 1;
      await delay(backoffMs(vainPolls, PAUSE));
      continue;
    }
    const unseen = events.filter(({ id }) => !seen.has(id));
    for (const { id, created_at } of unseen) {
      const createdMs = Date.parse(created_at);
      seen.set(id, createdMs);
      newestMs = Math.max(newestMs, createdMs);
    }
    for (const [id, createdMs] of seen) if (createdMs < newestMs - 2 * OVERLAP_MS) seen.delete(id);
    if (isFirst) onReady();
    else yield* unseen.reverse();
    isFirst = false;
    await delay(POLL_MS);
  }
}

/**
 * Newest first, back to a little before a time; without one, those of a little before the newest.
 */
const eventsSince = async (api: ApiCall, sinceMs: number | undefined): Promise<ApiEvent[]> => {
  const events: ApiEvent[] = [];
  for await (const event of pagesOf<ApiEvent>(api, EVENTS)) {
    const from = sinceMs ?? Date.parse(events[0]?.created_at ?? event.created_at);
    if (Date.parse(event.created_at) < from - OVERLAP_MS) break;
    events.push(event);
  }
  return events;
};

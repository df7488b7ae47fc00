import { setMaxListeners } from 'node:events';

/** An AbortController that also aborts when another signal does, or after a time limit. */
export interface LinkedAbort extends Disposable {
  readonly signal: AbortSignal;
  /** The time limit has passed. */
  readonly isLate: boolean;
  abort(reason?: unknown): void;
  /**
   * Aborts what is left of the work, such as an answered request whose body is not sent yet, and
   * removes the link.
   */
  [Symbol.dispose](): void;
}

/** More than the requests that one job or one copy of a file makes at the same time. */
const MAX_LINKS = 100;

/**
 * Dispose of it when the work has ended. `limitMs` is at most 2^31 - 1, as for all timers.
 *
 * It replaces `AbortSignal.any`: once something listens to such a signal, Node.js 20 keeps it, and
 * what its listeners refer to, until it aborts or all listeners are removed.
 */
export const createLinkedAbort = (parent: AbortSignal | undefined, limitMs?: number): LinkedAbort => {
  const own = new AbortController();
  let isLate = false;
  const expire = (): void => {
    isLate = true;
    own.abort(new DOMException('The time limit has passed', 'TimeoutError'));
  };
  const timer = limitMs === undefined ? undefined : setTimeout(expire, limitMs).unref();
  const follow = (): void => own.abort(parent?.reason);
  // By default, Node.js warns of more than ten listeners.
  setMaxListeners(0, own.signal);
  if (parent) setMaxListeners(MAX_LINKS, parent);
  if (parent?.aborted) follow();
  else parent?.addEventListener('abort', follow, { once: true });
  return {
    signal: own.signal,
    get isLate() {
      return isLate;
    },
    abort: (reason) => own.abort(reason),
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      parent?.removeEventListener('abort', follow);
      own.abort();
    },
  };
};

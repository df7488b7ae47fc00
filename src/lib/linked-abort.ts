import { setMaxListeners } from 'node:events';

/** An AbortController that also aborts when another signal does, or after a time limit, until it is disposed of. */
export interface LinkedAbort extends Disposable {
  readonly signal: AbortSignal;
  /** The time limit has passed. */
  readonly isLate: boolean;
  abort(reason?: unknown): void;
}

/**
 * Dispose of it when the work has ended. It replaces `AbortSignal.any`: Node.js 20 never frees a signal of that kind once
 * something has listened to it, nor what its listeners refer to, unless every listener is removed.
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
  // Otherwise Node.js warns of more than ten listeners, which many requests of one job are.
  setMaxListeners(0, own.signal);
  if (parent) setMaxListeners(0, parent);
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
    },
  };
};

import { ConnectionError, type ConnectionFailure } from './connection-failure.js';

interface Attempt {
  readonly accepted: Promise<void>;
  readonly lost: Promise<ConnectionFailure>;
  /** Closes the connection, and resolves `lost` with the failure. */
  readonly lose: (failure: ConnectionFailure) => void;
}

/**
 * Waits until the service has accepted the stream.
 * @param limitMs how long it may take
 * @throws ConnectionError why the connection was lost first
 */
export const untilAccepted = async (
  { accepted, lost, lose }: Attempt,
  { signal, limitMs }: { readonly signal: AbortSignal; readonly limitMs: number },
): Promise<void> => {
  const timer = setTimeout(() => lose({ code: 'no_response', kind: 'lost' }), limitMs);
  const abort = (): void => lose({ code: 'aborted', kind: 'lost' });
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    const failure = await Promise.race([accepted, lost]);
    if (failure) throw new ConnectionError(failure);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
};

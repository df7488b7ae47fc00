import { useEffect, useSyncExternalStore } from 'react';
import { ApiError, get } from './client';
import { queryClient } from './query-client';
import { sessionQuery } from './session';

/**
 * What the server's stream of changes names. The key of a query begins with the same word:
 * `['asset', 'list', …]` for a list and `['asset', id, …]` for one of them. Such queries are loaded
 * again after an event.
 */
const changeTypes = [
  ...(['asset', 'live_stream', 'upload', 'event', 'webhook', 'job', 'operations'] as const),
  ...(['delivery_budget', 'public_playback'] as const),
] as const;

/** The time in which many events lead to one request. */
const COLLECT_MS = 400;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 10_000;

let isUnavailable = false;
const listeners = new Set<() => void>();
const setUnavailable = (value: boolean): void => {
  if (isUnavailable === value) return;
  isUnavailable = value;
  for (const listener of listeners) listener();
};

/** Whether the connection to the server is lost at the moment. */
export const useServerAway = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isUnavailable,
  );

/** Resolves when the server can be reached, as far as is known. */
export const whenReachable = (): Promise<void> =>
  new Promise((resolve) => {
    const check = (): void => {
      if (isUnavailable) return;
      listeners.delete(check);
      resolve();
    };
    listeners.add(check);
    check();
  });

const waiting = new Map<string, readonly string[]>();
const refreshAll = (): void => {
  for (const queryKey of waiting.values()) void queryClient.invalidateQueries({ queryKey });
  waiting.clear();
};
const refresh = (...key: string[]): void => {
  if (waiting.size === 0) setTimeout(refreshAll, COLLECT_MS);
  waiting.set(key.join(' '), key);
};

let tryAgain = (): void => {};
/** Tries to reach the server at once instead of after the wait. */
export const retryNow = (): void => tryAgain();

/**
 * Keeps the stream open while the layout is displayed, and opens it again when the connection is
 * lost. Hidden windows have none: browsers have six connections to a server for all of them.
 */
const openStream = (): (() => void) => {
  let source: EventSource | undefined;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let isMissing = false;
  const close = (): void => {
    clearTimeout(retryTimer);
    source?.close();
  };
  const open = (): void => {
    close();
    source = new EventSource('/console/api/stream');
    source.onopen = () => {
      // Events were missed.
      if (isMissing) void queryClient.invalidateQueries();
      isMissing = false;
      failures = 0;
      setUnavailable(false);
    };
    source.addEventListener('reset', () => void queryClient.invalidateQueries());
    for (const type of changeTypes) {
      source.addEventListener(type, ({ data }: MessageEvent<string>) => {
        const { id } = JSON.parse(data) as { id?: string };
        refresh(type, 'list');
        if (id !== undefined) refresh(type, id);
      });
    }
    source.onerror = () => {
      source?.close();
      isMissing = true;
      failures++;
      // The stream is refused after the session's end too, and the session tells which it is.
      void get('/console/api/session').then(
        () => {
          // A proxy may refuse streams. Then what is displayed is loaded again with each try.
          setUnavailable(false);
          if (failures > 1) void queryClient.invalidateQueries({ refetchType: 'active' });
        },
        (error: unknown) => {
          if (error instanceof ApiError && error.status === 401) queryClient.setQueryData(sessionQuery.queryKey, null);
          else setUnavailable(true);
        },
      );
      retryTimer = setTimeout(open, Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LONGEST_RETRY_MS));
    };
  };
  const followVisibility = (): void => {
    if (document.hidden) {
      isMissing = true;
      close();
    } else open();
  };
  tryAgain = open;
  window.addEventListener('online', open);
  document.addEventListener('visibilitychange', followVisibility);
  followVisibility();
  return () => {
    window.removeEventListener('online', open);
    document.removeEventListener('visibilitychange', followVisibility);
    close();
    setUnavailable(false);
  };
};

/** Keeps what is displayed up to date. */
export const useChanges = (): void => useEffect(openStream, []);

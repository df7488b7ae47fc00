interface BackoffOptions {
  /** The pause before the second try. */
  readonly baseMs: number;
  readonly maxMs: number;
}

/**
 * Milliseconds to wait after try number `attempt` (1 is the first): doubles each time up to
 * `maxMs`, minus a random part of up to half, so that work that failed together is not retried
 * together.
 */
export const backoffMs = (attempt: number, { baseMs, maxMs }: BackoffOptions): number => {
  const full = Math.min(maxMs, baseMs * 2 ** (Math.max(1, attempt) - 1));
  return Math.round(full * (0.5 + Math.random() / 2));
};

/** A random factor from `1 - share` to `1 + share`. */
export const jitter = (share: number): number => 1 + share * (2 * Math.random() - 1);

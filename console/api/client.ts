/** Requests to the server, on behalf of the session whose cookie the browser sends. */
import { rememberCall } from './call-log';

/** The server answered with an error. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    readonly status: number,
    readonly type: string,
    readonly messages: readonly string[],
  ) {
    super(messages.join(' ') || `The server answered with status ${status}.`);
  }
}

/**
 * No response, or one from a proxy that doesn't reach the server. It is not known whether a change
 * was made.
 */
class ServerAwayError extends Error {
  override readonly name = 'ServerAwayError';
  constructor() {
    super("The server didn't answer. Check your connection and try again.");
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type QueryValues = Readonly<Record<string, string | number | undefined>>;

let csrfToken: string | undefined;
/** The token of the session, which every change has to carry. */
export const setCsrfToken = (token: string | undefined): void => {
  csrfToken = token;
};

let whenSignedOut = (): void => {};
/** @param listener called when the server no longer knows the session */
export const onSignedOut = (listener: () => void): void => {
  whenSignedOut = listener;
};

/** The path with the values that are set as its query. */
export const withQuery = (path: string, values: QueryValues): string => {
  const set = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  const query = new URLSearchParams(set.map(([name, value]) => [name, String(value)]));
  return set.length > 0 ? `${path}?${query}` : path;
};

/**
 * Sends one request.
 * @param path from the server's root, with its query
 * @param body sent as JSON; a file as it is
 * @returns the parsed answer; undefined when it has no body
 * @throws ApiError, ServerAwayError
 */
export const request = async <T = undefined>(
  method: Method,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> => {
  const headers: Record<string, string> = { accept: 'application/json' };
  const isFile = body instanceof Blob;
  if (body !== undefined) headers['content-type'] = isFile ? 'application/octet-stream' : 'application/json';
  if (method !== 'GET' && csrfToken !== undefined) headers['x-csrf-token'] = csrfToken;
  const init: RequestInit = { method, headers, credentials: 'same-origin', cache: 'no-store' };
  if (body !== undefined) init.body = isFile ? body : JSON.stringify(body);
  if (signal) init.signal = signal;
  const response = await fetch(path, init).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ServerAwayError();
  });
  if (response.ok) {
    const warning = response.headers.get('kinora-warning');
    if (method !== 'GET') rememberCall({ method, path, body, ...(warning !== null && { warning }) });
    const text = await response.text();
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }
  const problem = await readProblem(response);
  if (!problem && response.status >= 502 && response.status <= 504) throw new ServerAwayError();
  if (response.status === 401 && path !== '/console/api/session') whenSignedOut();
  throw new ApiError(response.status, problem?.type ?? 'unknown', problem?.messages ?? []);
};

interface Problem {
  readonly type: string;
  readonly messages: readonly string[];
}

const readProblem = async (response: Response): Promise<Problem | undefined> => {
  try {
    const { error } = (await response.json()) as { error?: Problem };
    return error && Array.isArray(error.messages) ? error : undefined;
  } catch {
    return undefined;
  }
};

export const get = <T>(path: string, values: QueryValues = {}, signal?: AbortSignal): Promise<T> =>
  request<T>('GET', withQuery(path, values), undefined, signal);

/** What a person reads about a failure. */
export const sentenceOf = (error: unknown): string =>
  error instanceof Error ? error.message : 'Something went wrong. Reload the page.';

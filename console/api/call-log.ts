import { createStore } from '../ui/store';

/** A change that the console has made. */
export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** Fields that the server does not know. */
  readonly warning?: string;
}

const KEPT = 20;

/**
 * The last changes of this window, the newest first: what to write into a program to do the same.
 */
export const callLog = createStore<readonly ApiCall[]>([]);

export const rememberCall = (call: ApiCall): void => {
  // Calls of the console itself are no part of the API.
  if (call.path.startsWith('/console/')) return;
  callLog.set([call, ...callLog.get()].slice(0, KEPT));
};

/** The command line that sends the same request. */
export const curlOf = ({ method, path, body }: ApiCall): string => {
  const lines = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} '${location.origin}${path}'`,
    `-u "$TOKEN_ID:$TOKEN_SECRET"`,
  ];
  if (body !== undefined) {
    // A quote ends the quoted text, stands for itself, and begins it again.
    const json = JSON.stringify(body, undefined, 2).replaceAll("'", `'\\''`);
    lines.push("-H 'Content-Type: application/json'", `-d '${json}'`);
  }
  return lines.join(' \\\n  ');
};

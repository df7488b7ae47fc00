import { tryListen } from '../lib/try-listen.js';

export interface ListenProblem {
  /** The code of the system, such as `EADDRINUSE`. */
  readonly code: string;
  readonly text: string;
  /** What to do about it. */
  readonly fix: string;
}

/**
 * Whether a server could listen there now: undefined, or what prevents it.
 * @param option the beginning of the names of its options: `KINORA_` or `KINORA_METRICS_`
 */
export const findListenProblem = async (
  host: string,
  port: number,
  option = 'KINORA_',
): Promise<ListenProblem | undefined> => {
  const problem = await tryListen(host, port);
  if (problem === undefined) return undefined;
  const code = problem.code ?? problem.message;
  const address = `set ${option}HOST to 127.0.0.1 or 0.0.0.0, or to an address of this machine`;
  const fixes: Readonly<Record<string, string>> = {
    EADDRINUSE: `another program listens there: stop it or set ${option}PORT`,
    EACCES: `ports below 1024 need a privilege: set ${option}PORT to a higher one`,
    EADDRNOTAVAIL: `this machine has no such address: ${address}`,
    ENOTFOUND: `the name does not resolve: ${address}`,
    EAI_AGAIN: `the name does not resolve now: ${address}`,
  };
  return {
    code,
    text: `${host}:${port} is not available (${code})`,
    fix: fixes[code] ?? `set ${option}HOST and ${option}PORT`,
  };
};

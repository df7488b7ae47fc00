import { type Environment, readEnvironment } from '../config/environment.js';
import { loadConfig } from '../config/load-config.js';
import { flagOf, options } from '../config/options.js';
import { isKinoraError } from '../lib/errors.js';
import { noSpaceReason } from '../lib/no-space.js';
import { isDatabaseUnavailable } from '../lib/unavailable.js';
import { kinoraVersion } from '../lib/version.js';
import { complete } from './complete.js';
import { completeIds } from './complete-ids.js';
import { createParser, parseCommandLine } from './parse-command-line.js';
import { usageError } from './support/command.js';
import { print, printError } from './support/print.js';

const exitStatusOf = (error: unknown): number => {
  if (noSpaceReason(error) !== undefined) return 1;
  if (isKinoraError(error, 'config_invalid')) return 2;
  return isKinoraError(error, 'data_dir_in_use') ? 75 : 1;
};

/**
 * npm interprets flags before `--` as its own settings and only passes them on as environment
 * variables.
 */
const rejectFlagsTakenByNpm = (env: Environment): void => {
  if (env.npm_lifecycle_event !== 'start') return;
  const taken = Object.values(options)
    .map(({ variable }) => flagOf(variable))
    // npm always sets its own user agent.
    .filter((flag) => flag !== '--user-agent' && env[`npm_config_${flag.slice(2).replaceAll('-', '_')}`] !== undefined);
  if (taken.length === 0) return;
  throw usageError(
    `npm did not pass ${taken.join(', ')} to Kinora. Add -- before the flags: npm start -- ${taken[0]} ...`,
  );
};

const run = async (argv: readonly string[]): Promise<number> => {
  const environment = readEnvironment();
  rejectFlagsTakenByNpm(environment.env);
  if (argv[0] === '__complete') {
    // For the shells, which begin the words with --.
    const parser = createParser(() => undefined);
    const response = complete(parser, argv.slice(2));
    const completions =
      typeof response === 'object' && 'kind' in response ? await completeIds(response, environment) : response;
    print(completions === ':files' ? completions : completions.map((candidate) => candidate.join('\t')).join('\n'));
    return 0;
  }
  const invocation = parseCommandLine(argv, kinoraVersion());
  if (!invocation) return 0;
  const { command, args, flags, settings } = invocation;
  const { config } = loadConfig({ flags: settings, ...environment });
  return command.run({ config, args, flags });
};

/** One sentence for expected failures and system errors; the whole stack for everything else. */
const explain = (error: unknown): string => {
  const noSpace = noSpaceReason(error);
  if (noSpace !== undefined) return `kinora: A disk is full; free space or inodes on it (${noSpace}).`;
  if (isKinoraError(error)) {
    const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
    return `${error.messages.map((message) => `kinora: ${message}`).join('\n')}${cause}`;
  }
  if (!(error instanceof Error)) return String(error);
  // The ports were free when each was checked: another program has taken one since, or both options
  // name the same.
  if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') {
    const { address, port } = error as Error & { address: string; port: number };
    return `kinora: ${address}:${port} is in use by another program or by Kinora itself; change KINORA_PORT or KINORA_METRICS_PORT.`;
  }
  if (isDatabaseUnavailable(error))
    return `kinora: The database can't be used now (${error.message}); kinora doctor may find the cause.`;
  const isRefusal = typeof (error as NodeJS.ErrnoException).syscall === 'string';
  return isRefusal ? `kinora: ${error.message}; kinora doctor may find the cause.` : (error.stack ?? error.message);
};

/**
 * Runs a command line in this process. Problems go to standard error.
 * @param argv without the names of the program and the script
 * @returns the exit status: 0 success, 1 failure, 2 wrong usage, 75 data directory in use
 * (EX_TEMPFAIL of sysexits.h)
 */
export const runCommandLine = async (argv: readonly string[]): Promise<number> => {
  try {
    // `npx kinora` is how a new user starts the server.
    return await run(argv.length === 0 ? ['serve'] : argv);
  } catch (error) {
    printError(explain(error));
    return exitStatusOf(error);
  }
};

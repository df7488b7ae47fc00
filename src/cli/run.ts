import { type Environment, readEnvironment } from '../config/environment.js';
import { type LoadedConfig, loadConfig } from '../config/load-config.js';
import { nearest } from '../config/nearest.js';
import { flagOf, options } from '../config/options.js';
import { isKinoraError } from '../lib/errors.js';
import { kinoraVersion } from '../lib/version.js';
import { createLogger } from '../telemetry/logger.js';
import { commands } from './commands.js';
import { type Command, print, usageError } from './support/command.js';

/** 0 success, 1 failure, 2 wrong usage, 75 data directory in use (EX_TEMPFAIL of sysexits.h). */
const exitStatusOf = (error: unknown): number => {
  if (isKinoraError(error, 'config_invalid')) return 2;
  return isKinoraError(error, 'data_dir_in_use') ? 75 : 1;
};

const commandLine = (words: string, command: Command): string => ['kinora', words, ...command.args].join(' ');

const help = (): string => {
  const lines = Object.entries(commands).map(
    ([words, command]) => `  ${commandLine(words, command).padEnd(36)}${command.summary}`,
  );
  const flags = Object.values(options).map(
    ({ variable, doc }) => `  ${flagOf(variable).padEnd(25)}${doc.replaceAll('`', '')}`,
  );
  return [
    'Kinora: a self-hosted video API.',
    '',
    'Usage: kinora <command> [options]',
    '',
    ...lines,
    '',
    'Options (also environment variables, for example KINORA_DATA_DIR for --data-dir, or lines in .env):',
    '',
    ...flags,
    '',
    'Run kinora <command> --help for a command. See docs/configuration.md for each option.',
  ].join('\n');
};

const commandHelp = (words: string, command: Command): string => {
  const own = Object.entries({ ...command.flags, ...command.switches });
  const width = Math.max(...own.map(([flag]) => flag.length)) + 2;
  const flags = own.map(([flag, doc]) => `  ${flag.padEnd(width)}${doc}`);
  return [
    `Usage: ${commandLine(words, command)}`,
    '',
    command.summary,
    ...(flags.length > 0 ? ['', ...flags] : []),
  ].join('\n');
};

/** The command is one word or two. */
const findCommand = (
  rest: readonly string[],
  doubts: LoadedConfig['doubts'],
): { words: string; command: Command; args: readonly string[] } => {
  for (const length of [2, 1]) {
    const words = rest.slice(0, length).join(' ');
    const command = Object.hasOwn(commands, words) ? commands[words] : undefined;
    if (command) return { words, command, args: rest.slice(length) };
  }
  const doubt = doubts.find(({ word }) => word === rest[0]);
  if (doubt) throw usageError(doubt.message);
  const said = rest.slice(0, 2).join(' ');
  const firstWords = Object.keys(commands).map((words) => words.split(' ')[0]!);
  const candidates = Object.keys(commands).filter((words) => words.startsWith(`${rest[0]} `));
  throw usageError(
    candidates.length > 0
      ? `kinora ${rest[0]} needs one of: ${candidates.map((words) => words.split(' ')[1]).join(', ')}.`
      : `kinora ${said} is not a command; did you mean kinora ${nearest(rest[0] ?? '', firstWords)}?`,
  );
};

/** npm interprets flags before `--` as its own settings and only passes them on as environment variables. */
const refuseFlagsTakenByNpm = (env: Environment): void => {
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
  refuseFlagsTakenByNpm(environment.env);
  const ownFlags = Object.values(commands).flatMap((command) => Object.keys(command.flags ?? {}));
  const switches = Object.values(commands).flatMap((command) => Object.keys(command.switches ?? {}));
  const commandFlags = {
    ...Object.fromEntries(ownFlags.map((flag) => [flag, true])),
    ...Object.fromEntries(switches.map((flag) => [flag, false])),
    '--help': false,
    '--version': false,
  };
  const { config, rest, flags, doubts } = loadConfig({ argv, ...environment, commandFlags });
  if (flags['--version']) {
    print(kinoraVersion());
    return 0;
  }
  if (rest[0] === 'help' || (flags['--help'] && rest.length === 0)) {
    print(help());
    return 0;
  }
  if (rest.length === 0) throw usageError('A command is required; kinora --help lists all commands.');
  const { words, command, args } = findCommand(rest, doubts);
  if (flags['--help']) {
    print(commandHelp(words, command));
    return 0;
  }
  const own = { ...command.flags, ...command.switches };
  const foreign = Object.keys(flags).find((flag) => own[flag] === undefined);
  if (foreign !== undefined) throw usageError(`kinora ${words} has no flag ${foreign}.`);
  if (args.length !== command.args.length) {
    const doubt = doubts.find(({ word }) => args.includes(word));
    throw usageError(doubt ? doubt.message : `Usage: ${commandLine(words, command)}`);
  }
  return command.run({ config, args, flags, logger: createLogger(config.logLevel, config.logFormat) });
};

/** One sentence for expected failures and system errors; the whole stack for everything else. */
const explain = (error: unknown): string => {
  if (isKinoraError(error)) {
    const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
    return `${error.messages.map((message) => `kinora: ${message}`).join('\n')}${cause}`;
  }
  if (!(error instanceof Error)) return String(error);
  if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') {
    const { address, port } = error as Error & { address: string; port: number };
    return `kinora: Port ${port} of ${address} is in use by another program; choose another port with --port or KINORA_PORT.`;
  }
  const isRefusal = typeof (error as NodeJS.ErrnoException).syscall === 'string';
  return isRefusal ? `kinora: ${error.message}; kinora doctor may find the cause.` : (error.stack ?? error.message);
};

// The reader of the output may have exited (`kinora asset list | head`); that must not end the server.
process.stdout.on('error', () => {});

try {
  process.exit(await run(process.argv.slice(2)));
} catch (error) {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(exitStatusOf(error));
}

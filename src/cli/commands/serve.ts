import { setTimeout as delay } from 'node:timers/promises';
import { readEnvironment } from '../../config/environment.js';
import { type Config, options } from '../../config/options.js';
import { localTokenPath } from '../../domain/access/local-token.js';
import type { Kinora } from '../../server.js';
import { LogTail } from '../../telemetry/log-tail.js';
import type { Command, Setting } from '../support/command.js';
import { findToken } from '../support/local-token.js';
import { print } from '../support/print.js';

const PARENT_CHECK_MS = 1000;

/**
 * Resolves at the first SIGTERM or SIGINT; the second ends the process immediately. When run as an
 * npm script, the server also stops when npm has exited: a killed npm forwards no signal.
 */
const nextStopSignal = (): Promise<void> =>
  new Promise((resolve) => {
    const npm = process.ppid;
    if (readEnvironment().env.npm_lifecycle_event !== undefined)
      setInterval(() => process.ppid !== npm && resolve(), PARENT_CHECK_MS).unref();
    let asked = false;
    const onSignal = () => {
      if (asked) process.exit(1);
      asked = true;
      resolve();
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

interface Running {
  readonly url: string;
  /** URLs for encoders, or why there is none. */
  readonly ingest: readonly string[];
  /** Only present on the first start. */
  readonly newToken: string | undefined;
  readonly hasToken: boolean;
  /** Signs in to the console once. */
  readonly consoleLink: string | undefined;
}

const startBlock = (config: Config, { url, ingest, newToken, hasToken, consoleLink }: Running): string => {
  const tokenPath = localTokenPath(config.dataDir);
  // Read from the file, so that the secret does not appear in the shell's history and the process
  // list.
  const user = hasToken && !config.token ? `$(cat ${quote(tokenPath)})` : '<token id>:<secret>';
  return [
    '',
    'Kinora is running.',
    '',
    `  Address         ${url}`,
    ...(consoleLink
      ? [
          `  Console         ${consoleLink}`,
          '                  (signs in once, within an hour; kinora console prints a new link)',
        ]
      : [`  Console         ${url}/console (kinora console prints a link that signs in)`]),
    ...ingest.map((line) => `  Live streams    ${line}`),
    `  Data directory  ${config.dataDir}`,
    ...(newToken
      ? [
          `  Access token    ${newToken}`,
          `                  (displayed only once; stored on this machine in ${tokenPath})`,
        ]
      : []),
    ...(hasToken ? [] : ['  Access token    unknown; create one with: kinora token create']),
    '',
    'Create an asset from the URL of any video:',
    '',
    `  curl ${url}/video/v1/assets -u "${user}" \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '{"inputs":[{"url":"https://muxed.s3.amazonaws.com/leds.mp4"}],"playback_policies":["public"]}'`,
    '',
  ].join('\n');
};

const edgeBlock = ({ dataDir }: Config, url: string, originUrl: string): string =>
  [
    '',
    `Kinora is running as an edge of ${originUrl}.`,
    '',
    `  Address         ${url}`,
    `  Data directory  ${dataDir}`,
    '',
  ].join('\n');

export const serve: Command = {
  summary: 'run the server',
  args: [],
  settings: Object.keys(options) as Setting[],
  examples: ['kinora serve', 'kinora serve --port 9000 --data-dir /var/lib/kinora'],
  run: async ({ config }) => {
    const { createLogger, createLogStream } = await import('../../telemetry/logger.js');
    const logTail = new LogTail();
    const logger = createLogger(config.logLevel, config.logFormat, logTail.tee(createLogStream(config.logFormat)));
    const stopSignal = nextStopSignal();
    let isStarting = true;
    // Imported here, so that no other command has to load the whole server.
    const { Kinora } = await import('../../server.js');
    const kinora = new Kinora(config, { logger, logTail });
    // During startup, an immediate exit loses nothing.
    void stopSignal.then(() => isStarting && process.exit(0));
    await kinora.start();
    isStarting = false;
    if (config.edgeOrigin !== undefined) print(edgeBlock(config, kinora.url, config.edgeOrigin));
    else await printStart(config, kinora);
    await stopSignal;
    const stopped = kinora.stop().then(() => true);
    // The shutdown has its own limit; this slightly longer one only guards against a stop that
    // hangs.
    const inTime = await Promise.race([stopped, delay(config.shutdownLimitMs + 5000, false, { ref: false })]);
    if (!inTime) logger.error({ limit_ms: config.shutdownLimitMs }, 'shutdown timed out');
    return inTime ? 0 : 1;
  },
};

const printStart = async (config: Config, kinora: Kinora): Promise<void> => {
  const newToken = kinora.firstStart?.token;
  const hasToken = (await findToken(config)) !== undefined;
  // A log that is kept, of a service or a container, contains a link only when nobody could have
  // another one.
  const isShown = process.stdout.isTTY || newToken !== undefined;
  const consoleLink = isShown ? await kinora.createConsoleLink() : undefined;
  print(startBlock(config, { url: kinora.url, ingest: kinora.ingest, newToken, hasToken, consoleLink }));
  void kinora.samplePage?.then((page) =>
    print(page ? `A sample video plays at  ${page}\n` : 'The sample video could not be created. See the log.\n'),
  );
};

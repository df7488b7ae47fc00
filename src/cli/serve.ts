import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config/options.js';
import { type Command, print } from './command.js';
import { findToken, localTokenPath, writeLocalToken } from './local-token.js';

/** Resolves at the first SIGTERM or SIGINT; the second ends the process at once. */
const nextStopSignal = (): Promise<void> =>
  new Promise((resolve) => {
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
  /** Given on the first start only. */
  readonly newToken: string | undefined;
  readonly hasToken: boolean;
}

const startBlock = (config: Config, { url, newToken, hasToken }: Running): string => {
  const tokenPath = localTokenPath(config.dataDir);
  // From the file, so that the secret stays out of the shell's history and the list of processes.
  const user = hasToken && !config.token ? `$(cat ${quote(tokenPath)})` : '<token id>:<secret>';
  return [
    '',
    'Kinora is running.',
    '',
    `  Address         ${url}`,
    `  Data directory  ${config.dataDir}`,
    ...(newToken
      ? [`  Access token    ${newToken}`, `                  (shown this once; kept for this machine in ${tokenPath})`]
      : []),
    '',
    'Create an asset from the address of any video:',
    '',
    `  curl ${url}/video/v1/assets -u "${user}" \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '{"inputs":[{"url":"https://muxed.s3.amazonaws.com/leds.mp4"}],"playback_policies":["public"]}'`,
    '',
  ].join('\n');
};

export const serve: Command = {
  summary: 'runs the server',
  args: [],
  run: async ({ config, logger }) => {
    const stopSignal = nextStopSignal();
    // Only here: no other command should wait for the whole server to load.
    const { createKinora } = await import('../server.js');
    const kinora = await createKinora(config, { logger });
    await kinora.start();
    const newToken = kinora.firstStart?.token;
    if (newToken) await writeLocalToken(config.dataDir, newToken);
    const hasToken = (await findToken(config)) !== undefined;
    print(startBlock(config, { url: kinora.url, newToken, hasToken }));
    void kinora.samplePage?.then((page) => page && print(`A sample video plays at  ${page}\n`));
    await stopSignal;
    const stopped = kinora.stop().then(() => true);
    // The limit is the composition root's own plus a moment; this one only guards against a stop that hangs.
    const inTime = await Promise.race([stopped, delay(config.shutdownLimitMs + 5000, false, { ref: false })]);
    if (!inTime) logger.error({ limit_ms: config.shutdownLimitMs }, 'the stop took too long and was cut off');
    return inTime ? 0 : 1;
  },
};

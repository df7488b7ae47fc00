import { rm } from 'node:fs/promises';
import { loadConfig } from '#kinora/config/load-config.js';
import { systemClock } from '#kinora/lib/clock.js';
import { newSecret, newUuid } from '#kinora/lib/ids.js';
import { Kinora, type Overrides } from '#kinora/server.js';
import { createLogger } from '#kinora/telemetry/logger.js';
import { makeTestDataDir } from './database.js';

export interface Booted {
  readonly url: string;
  /** With the option `METRICS_PORT`. */
  readonly metricsUrl: string | undefined;
  readonly token: { readonly id: string; readonly secret: string };
  readonly dataDir: string;
  /** The URL of a link that signs in to the console once. */
  consoleLink(): Promise<string>;
  /** Stops the server; removes its data unless `dataDir` was given. */
  stop(): Promise<void>;
}

export interface BootOptions extends Overrides {
  /** Variables without the `KINORA_` prefix. */
  readonly options?: Readonly<Record<string, string>>;
  /** Kept after `stop`, for tests that start on it again. */
  readonly dataDir?: string;
  readonly token?: Booted['token'];
}

/**
 * A whole server on a free port with a fresh data directory; loopback sources are allowed, the
 * sample is off.
 */
export const boot = async ({ options = {}, dataDir, token, ...overrides }: BootOptions = {}): Promise<Booted> => {
  const directory = dataDir ?? (await makeTestDataDir());
  const access = token ?? { id: newUuid(), secret: newSecret() };
  const env = Object.fromEntries(Object.entries(options).map(([name, value]) => [`KINORA_${name}`, value]));
  const { config } = loadConfig({
    env: {
      KINORA_DATA_DIR: directory,
      KINORA_PORT: '0',
      KINORA_SAMPLE: 'false',
      KINORA_RTMP_PORT: 'off',
      KINORA_SRT_PORT: 'off',
      KINORA_ALLOW_PRIVATE_SOURCES: 'true',
      KINORA_TOKEN: `${access.id}:${access.secret}`,
      ...env,
    },
  });
  const kinora = new Kinora(config, {
    logger: createLogger(process.env.KINORA_TEST_LOG ? 'debug' : 'error', 'json'),
    clock: systemClock,
    ...overrides,
  });
  await kinora.start();
  return {
    url: kinora.url,
    metricsUrl: kinora.metricsUrl,
    token: access,
    dataDir: directory,
    consoleLink: () => kinora.createConsoleLink(),
    stop: async () => {
      await kinora.stop();
      if (dataDir === undefined) await rm(directory, { recursive: true, force: true });
    },
  };
};

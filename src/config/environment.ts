import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { KinoraError } from '../lib/errors.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the process environment and the text of `.env` in the working directory, if it exists.
 * @throws KinoraError `config_invalid` when the file can't be read
 */
export const readEnvironment = (): { env: Environment; envFileText: string | undefined } => ({
  env: process.env,
  envFileText: readEnvFile(),
});

const readEnvFile = (): string | undefined => {
  try {
    return readFileSync('.env', 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new KinoraError('config_invalid', {
      messages: [`The file ${resolve('.env')} cannot be read (${code}). Make it readable for this user, or remove it.`],
    });
  }
};

/**
 * The version of the S3 client is fixed with that of Kinora, so its notice about later versions
 * helps nobody.
 */
export const silenceS3ClientNotice = (): void => {
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
};

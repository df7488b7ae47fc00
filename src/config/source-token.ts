import { parseEnv } from 'node:util';
import { KinoraError } from '../lib/errors.js';
import type { Environment } from './environment.js';

export interface SourceToken {
  readonly tokenId: string;
  readonly tokenSecret: string;
}

/**
 * The access token of the server that an import reads from, under the names that the official SDKs
 * use. Not an argument, because every user of the machine can read arguments.
 * @throws KinoraError `config_invalid`
 */
export const readSourceToken = (sources: {
  readonly env: Environment;
  readonly envFileText?: string | undefined;
}): SourceToken => {
  const variables: Environment = { ...parseEnv(sources.envFileText ?? ''), ...sources.env };
  const { MUX_TOKEN_ID: tokenId, MUX_TOKEN_SECRET: tokenSecret } = variables;
  if (tokenId && tokenSecret) return { tokenId, tokenSecret };
  const missing = tokenId
    ? 'MUX_TOKEN_SECRET is'
    : tokenSecret
      ? 'MUX_TOKEN_ID is'
      : 'MUX_TOKEN_ID and MUX_TOKEN_SECRET are';
  throw new KinoraError('config_invalid', {
    messages: [
      `${missing} not set. Create an access token at the source with the permissions Video (read and write) and System (read), and set both in the environment or in .env.`,
    ],
  });
};

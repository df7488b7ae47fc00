import { readFileSync } from 'node:fs';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The process environment and the text of `.env` in the working directory, if there is one. */
export const readEnvironment = (): { env: Environment; envFileText: string | undefined } => ({
  env: process.env,
  envFileText: readEnvFile(),
});

const readEnvFile = (): string | undefined => {
  try {
    return readFileSync('.env', 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

import type { JobError } from '../db/schema.js';
import { causeChain } from '../lib/cause-chain.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';

/** PostgreSQL's jsonb can't store NUL, and messages of external tools may contain it. */
const storable = (text: string): string => text.replaceAll('\0', '');

export const toJobError = (error: unknown): JobError => {
  const kinoraError = isKinoraError(error) ? error : new KinoraError('internal_error');
  return { code: kinoraError.code, messages: kinoraError.messages.map(storable), detail: causeChain(error) };
};

export const fromJobError = (stored: JobError | null): KinoraError => {
  if (!stored) return new KinoraError('internal_error');
  const { code, messages, detail } = stored;
  return new KinoraError(code, { messages, details: { detail } });
};

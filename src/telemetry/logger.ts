import { type DestinationStream, destination, type LoggerOptions, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { PinoPretty } from 'pino-pretty';

/** Structured log of Kinora; `bindings` such as `request_id`, `asset_id`, `job_id` identify what a line is about. */
export interface Logger {
  debug(fields: Record<string, unknown>, message: string): void;
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
  child(bindings: Record<string, unknown>): Logger;
}

const secretFields = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'secret_hash',
  'secretHash',
  'token',
  'databaseUrl',
];

const loggerOptions: LoggerOptions = {
  base: null,
  timestamp: stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }) },
  // Written with their cause chain; a KinoraError includes its `code` and `details`.
  serializers: { error: stdSerializers.errWithCause, err: stdSerializers.errWithCause },
  redact: { paths: secretFields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: '[secret]' },
};

/**
 * Logs go to standard error; standard output is for the output of commands. JSON lines are written asynchronously,
 * several at a time under load (one at a time took a fifth of a request for an asset); the rest is written at exit.
 */
export const createLogger = (
  level: 'debug' | 'info' | 'warn' | 'error',
  format: 'pretty' | 'json',
  stream: DestinationStream = format === 'json' ? destination({ dest: 2, sync: false }) : prettyStream(),
): Logger => pino({ ...loggerOptions, level }, stream);

const prettyStream = (): DestinationStream =>
  PinoPretty({ destination: 2, sync: true, colorize: process.stderr.isTTY === true, translateTime: 'SYS:HH:MM:ss.l' });

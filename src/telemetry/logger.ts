// Commands import this file only when they log: loading pino takes a sixth of the CPU time of a
// short command.
import { type DestinationStream, destination, type LoggerOptions, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { PinoPretty, type PrettyOptions, prettyFactory } from 'pino-pretty';
import { plainJson } from '../lib/terminal-text.js';

/**
 * Structured log of Kinora; `bindings` such as `request_id`, `asset_id`, `job_id` identify what a
 * line is about. Narrower than pino, so that no code depends on the rest of it.
 */
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
 * Logs go to standard error; standard output is for the output of commands. JSON lines are written
 * asynchronously, several at a time under load (one at a time took a fifth of a request for an
 * asset); the rest is written at exit.
 */
export const createLogger = (
  level: 'debug' | 'info' | 'warn' | 'error',
  format: 'pretty' | 'json',
  stream: DestinationStream = createLogStream(format),
): Logger => pino({ ...loggerOptions, level }, stream);

/** Standard error, for lines of JSON. */
export const createLogStream = (format: 'pretty' | 'json'): DestinationStream =>
  format === 'json' ? destination({ dest: 2, sync: false }) : prettyStream();

const prettyOptions: PrettyOptions = { translateTime: 'SYS:HH:MM:ss.l' };

const prettyStream = (): DestinationStream => {
  const stream = PinoPretty({
    ...prettyOptions,
    destination: 2,
    sync: true,
    colorize: process.stderr.isTTY === true,
  });
  return { write: (line) => void stream.write(plainJson(line)) };
};

/** Turns a line of JSON into the text that the format `pretty` writes, with its line break. */
export const createLineFormatter = (colorize: boolean): ((line: string) => string) => {
  const format = prettyFactory({ ...prettyOptions, colorize });
  return (line) => format(plainJson(line));
};

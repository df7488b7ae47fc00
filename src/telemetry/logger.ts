// Commands import this file only when they log: loading pino takes a sixth of the CPU time of a
// short command.
import {
  type Bindings,
  type DestinationStream,
  destination,
  type LoggerOptions,
  pino,
  stdSerializers,
  stdTimeFunctions,
} from 'pino';
import { PinoPretty, type PrettyOptions, prettyFactory } from 'pino-pretty';
import { plainJson } from '../lib/terminal-text.js';
import { redactSecrets } from './redact-secrets.js';

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

/** With the cause chain; a KinoraError includes its `code` and `details`. */
const writeError = (error: Error): object => redactSecrets(stdSerializers.errWithCause(error));

/** Errors stay as they are for their serializers. */
const redactFields = (fields: Record<string, unknown>): Record<string, unknown> => {
  const { error, err } = fields;
  if (error === undefined && err === undefined) return redactSecrets(fields);
  return { ...redactSecrets(fields), ...(error !== undefined && { error }), ...(err !== undefined && { err }) };
};

const loggerOptions: LoggerOptions = {
  base: null,
  timestamp: stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }), log: redactFields },
  serializers: { error: writeError, err: writeError },
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
): Logger => {
  const logger = pino({ ...loggerOptions, level }, stream);
  const { child } = logger;
  // Children of children too: they inherit it.
  logger.child = function (this: typeof logger, bindings: Bindings) {
    return child.call(this, redactSecrets(bindings));
  } as typeof child;
  return logger;
};

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

import type { FastifyBaseLogger } from 'fastify';
import type { Logger } from '../../telemetry/logger.js';

type Fields = Record<string, unknown>;

/** Kinora's logger in the form that the framework passes to routes as `request.log`. */
export const frameworkLogger = (logger: Logger): FastifyBaseLogger =>
  new AdaptedLogger(() => logger) as unknown as FastifyBaseLogger;

/**
 * The framework creates one for each request; the child logger is only created when something is
 * logged.
 */
class AdaptedLogger {
  readonly level = 'info';
  readonly #make: () => Logger;
  #made: Logger | undefined;

  constructor(make: () => Logger) {
    this.#make = make;
  }

  get #logger(): Logger {
    this.#made ??= this.#make();
    return this.#made;
  }

  debug(fields: Fields, message: string): void {
    this.#logger.debug(fields, message);
  }
  info(fields: Fields, message: string): void {
    this.#logger.info(fields, message);
  }
  warn(fields: Fields, message: string): void {
    this.#logger.warn(fields, message);
  }
  error(fields: Fields, message: string): void {
    this.#logger.error(fields, message);
  }
  fatal(fields: Fields, message: string): void {
    this.#logger.error(fields, message);
  }
  trace(): void {}
  silent(): void {}
  child(bindings: Fields): AdaptedLogger {
    return new AdaptedLogger(() => this.#logger.child(bindings));
  }
}

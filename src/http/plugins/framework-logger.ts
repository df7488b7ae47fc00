import type { FastifyBaseLogger } from 'fastify';
import type { Logger } from '../../telemetry/logger.js';

const ignore = (): void => {};

/** Our logger in the shape that the framework gives to routes as `request.log`. */
export const frameworkLogger = (logger: Logger): FastifyBaseLogger => {
  const adapted = {
    level: 'info',
    debug: logger.debug.bind(logger),
    info: logger.info.bind(logger),
    warn: logger.warn.bind(logger),
    error: logger.error.bind(logger),
    fatal: logger.error.bind(logger),
    trace: ignore,
    silent: ignore,
    child: (bindings: Record<string, unknown>) => frameworkLogger(logger.child(bindings)),
  };
  return adapted as unknown as FastifyBaseLogger;
};

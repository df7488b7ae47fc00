import type { Logger } from '#kinora/telemetry/logger.js';

/** Drops everything; a test that looks at log lines brings its own. */
export const quietLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => quietLogger,
};

import type { Logger } from '#kinora/telemetry/logger.js';

/** Keeps what is logged, for tests that look at it. */
export const memoryLogger = (): Logger & {
  readonly lines: { level: string; message: string; fields: Record<string, unknown> }[];
} => {
  const lines: { level: string; message: string; fields: Record<string, unknown> }[] = [];
  const at =
    (level: string, bindings: Record<string, unknown>) => (fields: Record<string, unknown>, message: string) => {
      lines.push({ level, message, fields: { ...bindings, ...fields } });
    };
  const logger = (bindings: Record<string, unknown>): Logger => ({
    debug: at('debug', bindings),
    info: at('info', bindings),
    warn: at('warn', bindings),
    error: at('error', bindings),
    child: (more) => logger({ ...bindings, ...more }),
  });
  return Object.assign(logger({}), { lines });
};

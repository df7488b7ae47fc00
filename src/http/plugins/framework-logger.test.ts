import { expect, test } from 'vitest';
import type { Logger } from '../../telemetry/logger.js';
import { frameworkLogger } from './framework-logger.js';

test('a child of the log is made when it has something to say, once', () => {
  const lines: unknown[] = [];
  let children = 0;
  const write = (level: string, bindings: object) => (fields: object, message: string) =>
    void lines.push({ level, ...bindings, ...fields, message });
  const logger = (bindings: object): Logger => ({
    debug: write('debug', bindings),
    info: write('info', bindings),
    warn: write('warn', bindings),
    error: write('error', bindings),
    child: (more) => {
      children += 1;
      return logger({ ...bindings, ...more });
    },
  });
  const request = frameworkLogger(logger({ server: 1 })).child({ request_id: 'r' });
  expect(children).toBe(0);
  request.warn({ part: 1 }, 'slow');
  request.fatal({ part: 2 }, 'over');
  expect(children).toBe(1);
  expect(lines).toEqual([
    { level: 'warn', server: 1, request_id: 'r', part: 1, message: 'slow' },
    { level: 'error', server: 1, request_id: 'r', part: 2, message: 'over' },
  ]);
});

import { expect, it } from 'vitest';
import type { Logger } from '../../telemetry/logger.js';
import { EdgeReports } from './edge-reports.js';

it('says at the stop what could not be reported', async () => {
  const lines: unknown[] = [];
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, ...fields, message });
  const logger: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => logger,
  };
  const fail = async () => {
    throw new Error('away');
  };
  const reports = new EdgeReports(fail, logger, 3_600_000);
  for (const file of ['0.m4s', '1.m4s', '1.m4s']) reports.count({ playbackId: 'p', rendition: 'r', file, bytes: 1 });
  await reports.stop();
  expect(lines).toMatchObject([
    { level: 'error', segments: 2, message: 'delivery usage lost: not reported before the stop' },
  ]);
});

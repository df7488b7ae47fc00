import { isKinoraError } from '../../lib/errors.js';
import type { Logger } from '../../telemetry/logger.js';
import { DELIVERIES_PATH, type EdgeDelivery, MAX_EDGE_DELIVERIES } from './edge-calls.js';

/** Counts what an edge sends and reports it to the origin. */
export interface EdgeReports {
  count(sent: Omit<EdgeDelivery, 'count'>): void;
  /** Reports what is counted. */
  stop(): Promise<void>;
}

const REPORT_MS = 10_000;
/** About 20 MB, while the origin is unavailable. */
const MAX_WAITING = 100_000;

/** @param report sends a body to a path of the origin */
export const createEdgeReports = (
  report: (path: string, body: unknown) => Promise<unknown>,
  logger: Logger,
  reportMs = REPORT_MS,
): EdgeReports => {
  const counted = new Map<string, EdgeDelivery>();
  let isDropping = false;
  let isStopping = false;
  let working: Promise<void> | undefined;

  const add = (sent: EdgeDelivery): void => {
    const key = `${sent.playbackId} ${sent.rendition} ${sent.file}`;
    const known = counted.get(key);
    if (!known && counted.size >= MAX_WAITING) {
      if (!isDropping) logger.error({ segments: counted.size }, 'delivery usage lost: too much waits for the origin');
      isDropping = true;
      return;
    }
    const { count = 0, bytes = 0 } = known ?? {};
    counted.set(key, { ...sent, count: count + sent.count, bytes: bytes + sent.bytes });
  };

  const send = async (): Promise<void> => {
    // What is counted meanwhile is reported the next time.
    for (let left = counted.size; left > 0; left -= MAX_EDGE_DELIVERIES) {
      const batch = [...counted].slice(0, MAX_EDGE_DELIVERIES);
      for (const [key] of batch) counted.delete(key);
      try {
        await report(
          DELIVERIES_PATH,
          batch.map(([, sent]) => sent),
        );
      } catch (error) {
        for (const [, sent] of batch) add(sent);
        throw error;
      }
    }
    isDropping = false;
  };
  const sendOrWarn = (): Promise<void> =>
    send().catch((error: unknown) => {
      const reason = isKinoraError(error, 'config_invalid') ? error.message : undefined;
      const fields = { err: error, reason, segments: counted.size };
      if (isStopping) logger.error(fields, 'delivery usage lost: not reported before the stop');
      else logger.warn(fields, 'delivery usage not reported, retrying');
    });
  const timer = setInterval(() => {
    working ??= sendOrWarn().finally(() => {
      working = undefined;
    });
  }, reportMs).unref();

  return {
    count: (sent) => add({ ...sent, count: 1 }),
    stop: async () => {
      clearInterval(timer);
      await working;
      isStopping = true;
      await sendOrWarn();
    },
  };
};

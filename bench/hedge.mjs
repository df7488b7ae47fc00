// One of 50 reads of the store is late. In simulated time, so that nothing else on the machine
// counts.
import { Hedge } from '../dist/storage/s3/hedge.js';

const READS = 5000;
const USUAL_MS = 30;
const LATE_MS = 1000;
const LATE_SHARE = 1 / 50;
const AT_ONCE = 16;

/** A clock that jumps to the next timer when nothing else is left to do. */
const simulate = async (work) => {
  let nowMs = 0;
  let isOver = false;
  const timers = [];
  const sleep = (ms) => new Promise((resolve) => timers.push({ atMs: nowMs + ms, resolve }));
  const result = work({ nowMs: () => nowMs, sleep }).finally(() => (isOver = true));
  while (!isOver) {
    await new Promise(setImmediate);
    if (timers.length === 0) continue;
    timers.sort((one, other) => other.atMs - one.atMs);
    const next = timers.pop();
    nowMs = next.atMs;
    next.resolve();
  }
  return result;
};

const measure = (readerOf) =>
  simulate(async (clock) => {
    let requests = 0;
    const send = async () => {
      requests += 1;
      await clock.sleep(Math.random() < LATE_SHARE ? LATE_MS : USUAL_MS * (0.8 + 0.4 * Math.random()));
    };
    const read = readerOf(clock, send);
    const times = [];
    let started = 0;
    const readOn = async () => {
      while (started < READS) {
        started += 1;
        const startMs = clock.nowMs();
        await read();
        times.push(clock.nowMs() - startMs);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, readOn));
    times.sort((one, other) => one - other);
    const quantile = (share) => Math.round(times[Math.floor(share * (times.length - 1))]);
    return { p50: quantile(0.5), p99: quantile(0.99), p999: quantile(0.999), requests };
  });

export const title = 'S3 reads of which some are late: with a second request and without';
export const needs = [];

export const run = async () => {
  const without = await measure((_, send) => send);
  const hedged = await measure(({ nowMs, sleep }, send) => {
    const hedge = new Hedge({ maxShare: 0.05, nowMs, wait: (ms) => sleep(ms) });
    return async () => (await hedge.run(send))[Symbol.dispose]();
  });
  for (const [name, result] of Object.entries({ without, hedged }))
    console.log(
      `${name}: p50 ${result.p50} ms, p99 ${result.p99} ms, p99.9 ${result.p999} ms, ${result.requests} requests`,
    );
  console.log(`${((100 * (hedged.requests - READS)) / READS).toFixed(1)} % more requests`);
};

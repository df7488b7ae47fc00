import { table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';

export const title =
  'live memory of the server before and after 100,000 responses of about 75 kB from the embedded database';
export const needs = [];

const RESPONSES = 100_000;
const CONNECTIONS = 8;
const ALLOWED_GROWTH_BYTES = 10e6;

export const run = async () => {
  const server = await startKinora({ measured: true });
  try {
    // Enough assets that a page of events has 75 kB.
    const passthrough = 'x'.repeat(255);
    for (let i = 0; i < 100; i++)
      await server.api('POST', '/assets', { inputs: [{ url: 'http://127.0.0.1:9/none.mp4' }], passthrough });
    const headers = { authorization: server.authorization };
    const page = async () =>
      (await (await fetch(`${server.url}/system/v1/events?limit=100`, { headers })).text()).length;
    const bytes = await page();
    for (let i = 0; i < 200; i++) await page();
    const before = await server.liveBytes();
    let left = RESPONSES;
    const ask = async () => {
      while (left-- > 0) await page();
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, ask));
    const after = await server.liveBytes();
    console.log(`${RESPONSES} responses of ${bytes} bytes\n`);
    const row = (name) => [
      name,
      ...[before[name], after[name], after[name] - before[name]].map((n) => (n / 1e6).toFixed(1)),
    ];
    table([['live MB', 'before', 'after', 'growth'], row('main'), row('threads')]);
    const grownBytes = after.main + after.threads - before.main - before.threads;
    if (grownBytes > ALLOWED_GROWTH_BYTES) {
      console.log(`GREW by more than ${ALLOWED_GROWTH_BYTES / 1e6} MB`);
      process.exitCode = 1;
    }
  } finally {
    await server.stop();
  }
};

import { Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { REQUEST_SECONDS, RequestTimes } from './request-times.js';

test('the text is the one that prom-client writes', async () => {
  const registry = new Registry();
  const expected = new Histogram({
    name: 'times',
    help: 'Time of a request',
    labelNames: ['method', 'route', 'status'],
    buckets: [...REQUEST_SECONDS],
    registers: [registry],
  });
  const times = new RequestTimes('times', 'Time of a request');
  const durationsMs = [0, 4.9, 5, 5.1, 24, 100, 249.5, 700, 2_500, 9_999, 30_000, 30_001, 86_400_000];
  const labels = [
    { method: 'GET', route: '/:id.m3u8', status: 200 },
    { method: 'GET', route: '/:id.m3u8', status: 404 },
    { method: 'HEAD', route: '/:id.m3u8', status: 200 },
    { method: 'POST', route: '/a"b\\d\n', status: 201 },
  ];
  for (const durationMs of durationsMs)
    for (const [index, one] of labels.entries()) {
      times.count({ ...one, durationMs: durationMs + index });
      expected.observe({ ...one, status: String(one.status) }, (durationMs + index) / 1000);
    }
  expect(times.read()).toBe(await registry.metrics());
  expect(times.read()).toContain('times_bucket{le="+Inf",method="POST",route="/a\\"b\\\\d\\n",status="201"} 13');
});

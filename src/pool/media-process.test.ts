import { expect, test } from 'vitest';
import { systemClock } from '../lib/clock.js';
import { MediaProcess } from './media-process.js';
import type { VideoConfigJob } from './protocol.js';

const encoder = { preset: 'ultrafast', crf: 30, maxRate: 100_000, level: 30 };
const job: VideoConfigJob = { kind: 'video-config', width: 64, height: 64, frameRate: { num: 25, den: 1 }, encoder };

test.each([
  ['refuses at once (as it does without memory)', { file: '/bin/true', args: ['x'.repeat(2 ** 22)] }],
  ['reports later', { file: '/no/such/program', args: [] }],
])('a process that the system %s is a crash before the start, not an exception', async (_, command) => {
  const child = new MediaProcess(command, false, systemClock);
  await child.closed;
  expect(child.alive).toBe(false);
  expect(await child.perform(job, { deadlineMs: 1000 }, {})).toMatchObject({
    type: 'crashed',
    beforeStart: true,
  });
  await child.kill();
});

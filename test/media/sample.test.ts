import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { encodeSample } from '#kinora/engine/file/sample.js';
import { measureTone, probeFile, readAudio, readFrameCounters, readPackets } from '../support/media/measure.js';

const directory = mkdtempSync(join(tmpdir(), 'sample-'));
afterAll(() => rmSync(directory, { recursive: true }));

test('the sample counts its frames, beeps each second and can be cut every two', () => {
  const outPath = join(directory, 'sample.mp4');
  const fractions: number[] = [];
  const { sizeBytes } = encodeSample(
    { kind: 'sample', outPath, width: 640, height: 360, seconds: 4 },
    { progress: (fraction) => fractions.push(fraction) },
  );
  expect(sizeBytes).toBe(statSync(outPath).size);
  expect(fractions.length).toBeGreaterThan(0);
  expect(fractions.every((fraction, i) => fraction >= (fractions[i - 1] ?? 0) && fraction <= 1)).toBe(true);

  const [video, audio] = probeFile(outPath).streams;
  expect(video).toMatchObject({ codec: 'h264', width: 640, height: 360, frameRate: 30, sampleAspect: 1 });
  expect(video?.codecString).toMatch(/^avc1\.6400/);
  expect(audio).toMatchObject({ codec: 'aac', sampleRate: 48000, channels: 2 });
  const frames = readFrameCounters(outPath);
  expect(frames.map(({ counter }) => counter)).toEqual(Array.from({ length: 120 }, (_, i) => i));
  expect(frames.map(({ ptsSeconds }) => Math.round(ptsSeconds * 30))).toEqual(frames.map((_, i) => i));
  const keyFrames = readPackets(outPath).filter((packet) => packet.streamIndex === 0 && packet.keyFrame);
  expect(keyFrames.map(({ ptsSeconds }) => Math.round(ptsSeconds * 30))).toEqual([0, 60]);

  const { channels, sampleRate } = readAudio(outPath);
  for (let tenth = 0; tenth < 39; tenth++) {
    const from = Math.round((tenth * sampleRate) / 10) + 960;
    const { amplitude } = measureTone(channels[0] as Float32Array, sampleRate, 1000, from, 2880);
    expect(amplitude > 0.15, `audio at ${tenth / 10} s`).toBe(tenth % 10 === 0);
  }
});

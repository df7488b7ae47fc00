import { execFileSync } from 'node:child_process';
import { createHash, type Hash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { AV_PIX_FMT_YUV420P } from 'node-av/constants';
import type { Frame, Packet } from 'node-av/lib';
import { describe, expect, test } from 'vitest';
import { isDrained, newFrame, newPacket } from '#kinora/engine/ffmpeg/av.js';
import { EncodeQueue } from '#kinora/engine/video/encode-queue.js';
import { type EncoderContextSettings, openEncoder } from '#kinora/engine/video/fragment-encoder.js';

const FRAMES = 40;
const SIZE = { width: 192, height: 108 };
const LIMITED = { preset: 'veryfast', crf: 23, maxRate: 120_000, level: 30 };
const frameRate = { num: 30, den: 1 };
const settings = (encoder: EncoderContextSettings['encoder'], threads: number): EncoderContextSettings => ({
  ...SIZE,
  frameRate,
  encoder,
  threads,
});

/** A moving texture. */
const drawFrame = (number: number): Frame => {
  const frame = newFrame();
  Object.assign(frame, { ...SIZE, format: AV_PIX_FMT_YUV420P });
  expect(frame.allocBuffer()).toBe(0);
  for (const [plane, data] of frame.data!.entries()) {
    const stride = frame.linesize[plane]!;
    for (let at = 0; at < data.length; at += 1) {
      const [x, y] = [(at % stride) + 3 * number, Math.floor(at / stride) + number];
      data[at] = 128 + 60 * Math.sin(x / (5 + plane)) * Math.cos(y / 7) + ((x * y) % 11);
    }
  }
  frame.pts = BigInt(number * 3000);
  return frame;
};

const runScript = fileURLToPath(new URL('../support/processes/run-script.mjs', import.meta.url));
const runElsewhere = (script: string, env: Readonly<Record<string, string>> = {}): string =>
  execFileSync(process.execPath, [runScript, script], { env: { ...process.env, ...env }, encoding: 'utf8' });

const addPacket = (hash: Hash, { pts, dts, data }: Packet): void => {
  hash.update(`${pts} ${dts} ${data!.length}`).update(data!);
};

const encodeDirectly = (of: EncoderContextSettings): string => {
  using context = openEncoder(of);
  using packet = newPacket();
  const hash = createHash('sha256');
  for (let number = 0; number <= FRAMES; number += 1) {
    using frame = number < FRAMES ? drawFrame(number) : undefined;
    expect(context.sendFrameSync(frame ?? null)).toBe(0);
    while (!isDrained(context.receivePacketSync(packet))) {
      addPacket(hash, packet);
      packet.unref();
    }
  }
  return hash.digest('hex');
};

const encodeQueued = async (of: EncoderContextSettings): Promise<string> => {
  const hash = createHash('sha256');
  const queue = new EncodeQueue(openEncoder(of), (packet) => addPacket(hash, packet));
  try {
    for (let number = 0; number < FRAMES; number += 1) {
      queue.push(drawFrame(number));
      await queue.ready();
    }
    await queue.finish();
  } finally {
    await queue.close();
  }
  return hash.digest('hex');
};

describe('frames that a thread of the pool encodes', () => {
  test.each([
    ['a limited rate', settings(LIMITED, 2)],
    ['a constant quality in slices', settings({ preset: 'veryfast', crf: 16, bFrames: 0 }, 2)],
    ['a deep lookahead', settings({ ...LIMITED, preset: 'medium' }, 1)],
  ])('give the same packets: %s', async (_, of) => {
    const directly = encodeDirectly(of);
    // Beside each other as well: each has its own encoder and order.
    const queued = await Promise.all([1, 2, 3].map(() => encodeQueued(of)));
    expect(new Set(queued)).toEqual(new Set([directly]));
  });

  test('wait in a bounded number', async () => {
    const queue = new EncodeQueue(openEncoder(settings(LIMITED, 1)), () => undefined);
    for (let number = 0; number < 8; number += 1) queue.push(drawFrame(number));
    let isReady = false;
    const ready = queue.ready().then(() => {
      isReady = true;
    });
    await Promise.resolve();
    expect(isReady).toBe(false);
    await ready;
    await queue.close();
  });
});

describe('an encoder that fails', () => {
  test('rejects what follows, and closes', async () => {
    const queue = new EncodeQueue(openEncoder(settings(LIMITED, 1)), () => undefined);
    queue.push(drawFrame(0));
    await queue.finish();
    // Nothing can follow the end of the stream.
    queue.push(drawFrame(1));
    queue.push(drawFrame(2));
    const failure = { code: 'media_failed', details: { operation: 'encode frame' } };
    await expect(queue.finish()).rejects.toMatchObject(failure);
    await expect(queue.ready()).rejects.toMatchObject(failure);
    queue.push(drawFrame(3));
    await queue.close();
    await queue.close();
  });

  test('reports what its receiver throws', async () => {
    const queue = new EncodeQueue(openEncoder(settings(LIMITED, 1)), () => {
      throw new Error('no place for a packet');
    });
    for (let number = 0; number < FRAMES; number += 1) queue.push(drawFrame(number));
    await expect(queue.finish()).rejects.toThrow('no place for a packet');
    await queue.close();
  });
});

// In a process that overwrites freed memory: what a thread still uses would crash it or change the
// packets.
test('an encode can be given up at any moment', () => {
  const script = `
    const { openEncoder } = await kinora('engine/video/fragment-encoder.js');
    const { EncodeQueue } = await kinora('engine/video/encode-queue.js');
    const { newFrame } = await kinora('engine/ffmpeg/av.js');
    const { createHash } = await import('node:crypto');
    const draw = (number) => {
      const frame = newFrame();
      Object.assign(frame, { width: 192, height: 108, format: 0, pts: BigInt(number * 3000) });
      frame.allocBuffer();
      for (const data of frame.data) for (let at = 0; at < data.length; at += 1) data[at] = (at * (number + 3)) % 251;
      return frame;
    };
    const frames = Array.from({ length: 30 }, (_, number) => draw(number));
    const encode = async (count, ends) => {
      const hash = createHash('sha256');
      const encoder = { preset: 'veryfast', crf: 23, maxRate: 120000, level: 30 };
      const settings = { width: 192, height: 108, frameRate: { num: 30, den: 1 }, encoder, threads: 1 };
      const queue = new EncodeQueue(openEncoder(settings), ({ data }) => hash.update(data));
      for (let number = 0; number < count; number += 1) {
        queue.push(frames[number].clone());
        if (number % 3 > 0) await queue.ready();
      }
      const end = ends && queue.finish();
      if (count === frames.length) await end;
      await queue.close();
      await end;
      return hash.digest('hex');
    };
    const whole = await encode(frames.length, true);
    for (let round = 0; round < 60; round += 1) await encode(round % frames.length, round >= frames.length);
    if ((await encode(frames.length, true)) !== whole) throw new Error('other packets');
    process.stdout.write(whole);
  `;
  expect(runElsewhere(script, { MALLOC_PERTURB_: '165' })).toMatch(/^[0-9a-f]{64}$/);
});

test('in the background, the threads of the pool have the low priority as well', () => {
  const script = `
    const { lowerPriority } = await kinora('engine/ipc/lower-priority.js');
    const { readdirSync, readFileSync } = await import('node:fs');
    const { stat } = await import('node:fs/promises');
    await stat('/');
    lowerPriority();
    const nice = (thread) => readFileSync('/proc/self/task/' + thread + '/stat', 'latin1').split(') ').pop().split(' ')[16];
    process.stdout.write(JSON.stringify(readdirSync('/proc/self/task').map(nice)));
  `;
  const values = JSON.parse(runElsewhere(script)) as string[];
  // The main thread and four of the pool at least.
  expect(values.length).toBeGreaterThan(4);
  expect(new Set(values)).toEqual(new Set(['10']));
});

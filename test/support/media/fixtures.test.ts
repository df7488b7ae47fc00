import { describe, expect, test } from 'vitest';
import { encodedNames, fixture, recipeOf } from './fixtures.js';
import { measureTone, probeFile, readAudio, readFrameCounters, readRgbFrames } from './measure.js';

// The measuring instrument itself: what the recipes promise is in the files.
const withoutCounter = ['copy-1080p.mp4', 'copy-720p.mp4', 'texture.mp4'];
const withVideo = encodedNames.filter((name) => recipeOf(name).video !== undefined && !withoutCounter.includes(name));
const withAudio = encodedNames.filter(
  (name) => recipeOf(name).audio !== undefined && name !== 'loudness.wav' && name !== 'silence.wav',
);

describe('fixtures', () => {
  test.each(withVideo)('%s holds every frame once, upright', async (name) => {
    const { video, seconds, offsetSeconds = 0, firstCounter = 0 } = recipeOf(name);
    const counters = readFrameCounters(await fixture(name)).map(({ counter }) => counter);
    const rate = (video?.rate[0] ?? 0) / (video?.rate[1] ?? 1);
    const length = (video?.seconds ?? seconds) * (video?.interlaced === true ? rate / 2 : rate);
    // Frames before time zero are cut by the edit list.
    const cut = Math.ceil(Math.max(0, -offsetSeconds) * rate);
    expect(counters).toEqual(counters.map((_, index) => index + firstCounter + cut));
    if (video?.deltasMs === undefined) expect(counters.length).toBe(Math.round(length) - cut);
  });

  test.each(withAudio)('%s holds its tone', async (name) => {
    const { audio, seconds, offsetSeconds = 0 } = recipeOf(name);
    const measured = readAudio(await fixture(name));
    expect(measured.channels.length).toBe(audio?.channels);
    expect(measured.sampleRate).toBe(audio?.encoder === 'libopus' ? 48000 : audio?.sampleRate);
    const { amplitude } = measureTone(measured.channels[0] as Float32Array, measured.sampleRate, 400, 24000, 2400);
    expect(amplitude).toBeGreaterThan(0.19);
    expect(amplitude).toBeLessThan(0.21);
    const missing = (audio?.hole === undefined ? 0 : audio.hole[1] - audio.hole[0]) - Math.min(0, offsetSeconds);
    const length = (measured.channels[0] as Float32Array).length / measured.sampleRate;
    expect(Math.abs(length - ((audio?.seconds ?? seconds) - missing))).toBeLessThan(0.1);
  });

  test('flash and beep coincide with each full second', async () => {
    const path = await fixture('h264-aac.mp4');
    for (const { ptsSeconds, flash } of readFrameCounters(path)) {
      expect(flash > 128, `frame at ${ptsSeconds}`).toBe((ptsSeconds + 1e-6) % 1 < 0.1);
    }
    const { channels, sampleRate } = readAudio(path);
    for (let tenth = 0; tenth < 50; tenth++) {
      const from = Math.round((tenth * sampleRate) / 10) + 480;
      const { amplitude } = measureTone(channels[0] as Float32Array, sampleRate, 1000, from, 3840);
      expect(amplitude > 0.1, `audio at ${tenth / 10} s`).toBe(tenth % 10 === 0);
    }
  });

  test('the brightness of a frame is that of its conversion to gray by FFmpeg', async () => {
    const path = await fixture('h264-aac.mp4');
    const gray = readRgbFrames(path, 'format=gray').map(
      ({ rgb }) => rgb.reduce((sum, value) => sum + value) / rgb.length,
    );
    const measured = readFrameCounters(path).map(({ luma }) => luma);
    expect(measured.length).toBe(gray.length);
    for (const [index, luma] of measured.entries())
      expect(Math.abs(luma - gray[index]!), `frame ${index}`).toBeLessThan(1.5);
  });

  test('shapes and tags are what the recipes ask for', async () => {
    const video = async (name: Parameters<typeof recipeOf>[0]) => probeFile(await fixture(name)).streams[0];
    expect(await video('portrait-90.mp4')).toMatchObject({ width: 320, height: 180, rotation: 90 });
    expect(await video('portrait-270.mov')).toMatchObject({ rotation: 270 });
    expect((await video('anamorphic.mp4'))?.sampleAspect).toBeCloseTo(4 / 3);
    expect((await video('anamorphic-pal.ts'))?.sampleAspect).toBeCloseTo(64 / 45);
    expect(await video('odd-size.webm')).toMatchObject({ width: 321, height: 181 });
    expect((await video('ten-bit.mp4'))?.pixelFormat).toBe('yuv420p10le');
    expect(probeFile(await fixture('start-3600s.ts')).startSeconds).toBeGreaterThan(3599);
    expect(probeFile(await fixture('start-10s.mkv')).startSeconds).toBeCloseTo(10, 1);
  });
});

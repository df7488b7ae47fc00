/**
 * What every presentation must be, in numbers; each check reports all that is wrong, not only the
 * first thing.
 */
import { expect } from 'vitest';
import { CHANNEL_TONES } from '../media/fixture-media.js';
import {
  type ExactFrame,
  type MeasuredAudio,
  type MeasuredFrame,
  measureTone,
  probeFile,
  readAudio,
  readExactFrames,
  readFrameDigests,
} from '../media/measure.js';
import type { SourceTruth } from '../media/source-truth.js';
import type { WireAsset } from '../wire/create-asset.js';
import type { Played, PlayedRendition } from './play-through.js';

const AAC_FRAME = 1024;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
export const durationOf = ({ segments }: PlayedRendition): number => sum(segments.map(({ seconds }) => seconds));
const bitRateOf = (rendition: PlayedRendition, segment: number): number => {
  const { bytes, seconds } = rendition.segments[segment]!;
  return (bytes.length * 8) / seconds;
};

/** Whether a variant is HEVC or AV1 of the source. */
export const isOriginal = ({ attributes }: PlayedRendition): boolean =>
  /^"?(hvc1|av01)\./.test(attributes.CODECS ?? '');

/** FFmpeg tells more of AV1 than a playlist needs to, and nothing of HEVC. */
const shortCodecs = (told: string, measured: string | undefined): string | undefined => {
  const [codecs = ''] = told.split(',');
  return measured === undefined || measured.startsWith(codecs) ? codecs : measured;
};

/** Rules of RFC 8216 and what the playlists promise about the media. */
export const checkPlaylists = (played: Played, asset: WireAsset): void => {
  const { variants, audio } = played;
  const isAudioOnly = variants.every(({ attributes }) => attributes.RESOLUTION === undefined);
  for (const rendition of [...variants, ...(audio ? [audio] : [])]) {
    const { segments, targetSeconds, lines, timescale } = rendition;
    const label = rendition.url;
    expect.soft(lines.at(-1), label).toBe('#EXT-X-ENDLIST');
    expect.soft(lines, label).toContain('#EXT-X-PLAYLIST-TYPE:VOD');
    expect
      .soft(
        lines.some((line) => line.includes('DISCONTINUITY')),
        label,
      )
      .toBe(false);
    expect.soft(segments.length, label).toBe(variants[0]!.segments.length);
    // RFC 8216, 4.3.3.1: each duration, rounded, is at most the target.
    for (const { seconds } of segments) expect.soft(Math.round(seconds), label).toBeLessThanOrEqual(targetSeconds);
    expect
      .soft(targetSeconds, label)
      .toBeLessThanOrEqual(Math.max(1, ...segments.map(({ seconds }) => Math.ceil(seconds))));

    // The timeline: every segment begins where the one before ended, and lasts as long as it says.
    let ticks = 0;
    for (const { baseTicks, samples, seconds, url } of segments) {
      expect.soft(baseTicks, url).toBe(ticks);
      expect.soft(samples[0]!.sync, url).toBe(true);
      const lasts = sum(samples.map(({ durationTicks }) => durationTicks));
      ticks += lasts;
      expect.soft(Math.abs(seconds - lasts / timescale), url).toBeLessThan(2e-6);
    }
    const isFrame = rendition.attributes.RESOLUTION !== undefined || isAudioOnly;
    if (isFrame) expect.soft(Math.abs(durationOf(rendition) - asset.duration!), label).toBeLessThan(0.001);
    else {
      // Audio covers the video and ends within the same frame of audio.
      const surplus = durationOf(rendition) - asset.duration!;
      expect.soft(surplus, label).toBeGreaterThan(-0.001 - AAC_FRAME / timescale);
      expect.soft(surplus, label).toBeLessThan(0.001 + AAC_FRAME / timescale);
    }
  }
  // Of audio alone a variant is itself a member of the group.
  const beside = isAudioOnly ? undefined : audio;
  const audioCodec = beside && probeFile([beside.init, beside.segments[0]!.bytes]).streams[0]!.codecString;
  for (const variant of variants) {
    const { attributes, url } = variant;
    const measured = probeFile([variant.init, variant.segments[0]!.bytes]).streams[0]!;
    const codecs = isOriginal(variant) ? shortCodecs(attributes.CODECS!, measured.codecString) : measured.codecString;
    expect.soft(attributes.CODECS, url).toBe([codecs, ...(audioCodec ? [audioCodec] : [])].join(','));
    variant.segments.forEach((_, segment) => {
      const needed = bitRateOf(variant, segment) + (beside ? bitRateOf(beside, segment) : 0);
      expect.soft(Number(attributes.BANDWIDTH), `${url} ${segment}`).toBeGreaterThanOrEqual(needed);
    });
    if (isAudioOnly) continue;
    expect.soft(attributes.RESOLUTION, url).toBe(`${measured.width}x${measured.height}`);
    expect.soft([measured.sampleAspect, measured.rotation], url).toEqual([1, 0]);
    expect.soft(measured.pixelFormat, url).toMatch(isOriginal(variant) ? /^yuv420p(10le)?$/ : /^yuv420p$/);
    expect.soft(attributes.AUDIO, url).toBe(audio?.attributes['GROUP-ID']);
  }
};

type PresentedFrame = ExactFrame & { readonly ticks: number };
/** Two checks of a rendition read its frames: it is decoded once. */
const framesOf = new WeakMap<PlayedRendition, readonly PresentedFrame[]>();

const decodeFrames = (rendition: PlayedRendition): readonly PresentedFrame[] => {
  const { init, segments, timescale } = rendition;
  const frames = readExactFrames([init, ...segments.map(({ bytes }) => bytes)]);
  const ticks = segments.flatMap(({ samples }) => samples.map(({ presentationTicks }) => presentationTicks));
  ticks.sort((a, b) => a - b);
  expect.soft(frames.length, `${rendition.url}: decoded frames`).toBe(ticks.length);
  return frames.map((frame, index) => ({
    ...frame,
    ticks: ticks[index]!,
    ptsSeconds: ticks[index]! / timescale,
  }));
};

/** Frames of all segments, each with its presentation time from the boxes. */
export const readFrames = (rendition: PlayedRendition): readonly PresentedFrame[] => {
  const frames = framesOf.get(rendition) ?? decodeFrames(rendition);
  framesOf.set(rendition, frames);
  return frames;
};

/**
 * Every frame of the source once, in order, at its time; each segment decodes alone to the same
 * frames.
 */
export const checkFrames = (
  rendition: PlayedRendition,
  truth: SourceTruth,
  { frameStep = 1, lumaTolerance = 0.03 } = {},
): void => {
  const { url, timescale, init, segments } = rendition;
  const frames = readFrames(rendition);
  const expected = truth.frames.filter((_, index) => index % frameStep === 0);
  expect
    .soft(
      frames.slice(0, expected.length).map(({ counter }) => counter),
      url,
    )
    .toEqual(expected.map(({ counter }) => counter));
  const late = frames.slice(0, expected.length).flatMap(({ ptsSeconds, counter }, index) => {
    const error = ptsSeconds - expected[index]!.seconds;
    return Math.abs(error) > 1 / timescale + 1e-6 ? [`${counter}: ${error.toFixed(6)} s`] : [];
  });
  expect.soft(late.slice(0, 5), `${url}: wrong times`).toEqual([]);

  // The last frame is displayed until the audio ends, again at least once a second.
  const last = expected.at(-1)!;
  const held = frames.slice(expected.length);
  expect
    .soft(
      held.map(({ counter }) => counter),
      url,
    )
    .toEqual(held.map(() => last.counter));
  const times = [...frames.slice(expected.length - 1).map(({ ptsSeconds }) => ptsSeconds), durationOf(rendition)];
  const longest = Math.max(...times.slice(1).map((time, index) => time - times[index]!));
  expect.soft(longest, `${url}: held`).toBeLessThanOrEqual(Math.max(1, truth.frameSeconds) + 0.001);
  if (truth.durationSeconds - last.seconds < 0.1) expect.soft(held.length, `${url}: repeats`).toBe(0);

  const brightness = frames.slice(0, expected.length).map(({ luma }, index) => luma / expected[index]!.luma - 1);
  const worst = Math.max(...brightness.map(Math.abs));
  expect.soft(worst, `${url}: brightness`).toBeLessThan(lumaTolerance);

  let first = 0;
  for (const segment of segments) {
    // Equal frames have equal counters.
    const alone = readFrameDigests([init, segment.bytes]);
    const joined = frames.slice(first, first + alone.length);
    expect.soft(alone, `${segment.url} alone`).toEqual(joined.map(({ digest }) => digest));
    first += alone.length;
  }
  expect.soft(first, `${url}: frames of segments decoded alone`).toBe(frames.length);
};

const wrap = (angle: number): number => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));
const WINDOW_SECONDS = 0.05;
const BEEP = 1000;

interface ToneWindow {
  readonly seconds: number;
  readonly amplitude: number;
  /** Radians, against a tone that began at zero of the timeline. */
  readonly phase: number;
  /** Effective value of everything but the tone and the beep. */
  readonly residue: number;
}

/**
 * The tone in windows of 50 ms, which begin at whole multiples of it by the clock of the recipe:
 * beeps fill windows.
 */
const readTone = (
  samples: Float32Array,
  sampleRate: number,
  { startSeconds = 0, zeroSeconds = 0, frequency = 0 },
): ToneWindow[] => {
  const windows: ToneWindow[] = [];
  const count = Math.round(WINDOW_SECONDS * sampleRate);
  for (let number = Math.ceil((startSeconds + zeroSeconds) / WINDOW_SECONDS); ; number++) {
    const seconds = number * WINDOW_SECONDS - zeroSeconds;
    const from = Math.round((seconds - startSeconds) * sampleRate);
    if (from + count > samples.length) return windows;
    if (from < 0) continue;
    const tone = measureTone(samples, sampleRate, frequency, from, count);
    const beep = measureTone(samples, sampleRate, BEEP, from, count);
    let energy = 0;
    const radians = (2 * Math.PI) / sampleRate;
    for (let i = from; i < from + count; i++) {
      const expected =
        tone.amplitude * Math.sin(radians * frequency * i + tone.phase) +
        beep.amplitude * Math.sin(radians * BEEP * i + beep.phase);
      energy += ((samples[i] as number) - expected) ** 2;
    }
    const phase = wrap(tone.phase - 2 * Math.PI * frequency * startSeconds);
    windows.push({ seconds, amplitude: tone.amplitude, phase, residue: Math.sqrt(energy / count) });
  }
};

const meanPhase = (windows: readonly ToneWindow[]): number =>
  Math.atan2(sum(windows.map(({ phase }) => Math.sin(phase))), sum(windows.map(({ phase }) => Math.cos(phase))));

export interface AudioExpectation {
  readonly channels: number;
  /** Level of the tone beside the source's; a down-mix is softer. */
  readonly level?: number;
  /** How far the tone may be from the source's, and from its own mean, in seconds. */
  readonly offsetSeconds?: number;
  readonly wanderSeconds?: number;
  readonly hole?: readonly [number, number] | undefined;
}

/**
 * The tones of the source from its first to its last sample without a click or a shift; silence
 * elsewhere.
 */
export const checkAudio = (audio: PlayedRendition, truth: SourceTruth, expected: AudioExpectation): void => {
  const { channels: wanted, level = 1, offsetSeconds = 2e-5, wanderSeconds = 6e-5, hole } = expected;
  const sourceAudio = truth.audio!;
  const { channels, sampleRate } = readAudio([audio.init, ...audio.segments.map(({ bytes }) => bytes)]);
  const label = audio.url;
  expect.soft(channels.length, label).toBe(wanted);
  expect.soft(audio.attributes.CHANNELS ?? String(wanted), label).toBe(String(wanted));
  const samples = sum(audio.segments.flatMap(({ samples }) => samples.map(({ durationTicks }) => durationTicks)));
  expect.soft(channels[0]!.length, `${label}: samples`).toBe(samples);

  const end =
    sourceAudio.startSeconds +
    sourceAudio.channels[0]!.length / sourceAudio.sampleRate +
    (hole ? hole[1] - hole[0] : 0);
  const touches = ({ seconds }: ToneWindow, from: number, until: number, margin: number): boolean =>
    seconds + WINDOW_SECONDS > from - margin && seconds < until + margin;
  channels.forEach((produced, channel) => {
    const tone = { frequency: CHANNEL_TONES[channel]!, zeroSeconds: truth.recipeZeroSeconds };
    const windows = readTone(produced, sampleRate, tone);
    const source = readTone(sourceAudio.channels[channel]!, sourceAudio.sampleRate, {
      ...tone,
      startSeconds: sourceAudio.startSeconds,
    });
    const inside = windows.filter(
      (window) =>
        window.seconds > sourceAudio.startSeconds + 0.05 &&
        window.seconds + WINDOW_SECONDS < end - 0.05 &&
        !(hole && touches(window, hole[0], hole[1], 0.1)),
    );
    const silent = windows.filter(
      (window) =>
        !touches(window, sourceAudio.startSeconds, end, 0.05) ||
        (hole && window.seconds > hole[0] + 0.1 && window.seconds + WINDOW_SECONDS < hole[1] - 0.1),
    );
    const name = `${label} channel ${channel}`;
    expect.soft(inside.length, name).toBeGreaterThan(20);
    for (const { seconds, amplitude } of silent)
      expect.soft(amplitude, `${name} silence at ${seconds}`).toBeLessThan(0.01);
    const radians = 2 * Math.PI * tone.frequency;
    const mean = meanPhase(inside);
    const worst = inside.reduce((a, b) => (Math.abs(wrap(b.phase - mean)) > Math.abs(wrap(a.phase - mean)) ? b : a));
    expect
      .soft(Math.abs(wrap(worst.phase - mean)) / radians, `${name} phase at ${worst.seconds}`)
      .toBeLessThan(wanderSeconds);
    const sourceMean = meanPhase(source.slice(2, -2));
    expect.soft(Math.abs(wrap(mean - sourceMean)) / radians, `${name} offset`).toBeLessThan(offsetSeconds);
    const sourceLevel = sum(source.slice(2, -2).map(({ amplitude }) => amplitude)) / (source.length - 4);
    for (const { seconds, amplitude } of inside)
      expect.soft(Math.abs(amplitude / (sourceLevel * level) - 1), `${name} level at ${seconds}`).toBeLessThan(0.2);

    // A click at a join would leave more behind than the start of a beep elsewhere.
    const joins = audio.segments.slice(1).map(({ baseTicks }) => baseTicks / audio.timescale);
    const isJoin = (window: ToneWindow): boolean => joins.some((join) => touches(window, join, join, 0.005));
    const elsewhere = Math.max(...inside.filter((window) => !isJoin(window)).map(({ residue }) => residue));
    for (const { seconds, residue } of inside.filter(isJoin)) {
      // What the source's own coding of a beep leaves behind is no click.
      const inSource = source.find((window) => Math.abs(window.seconds - seconds) < 0.01)?.residue ?? 0;
      const limit = Math.max(1.5 * elsewhere, inSource) + 0.006;
      expect.soft(residue, `${name} click at ${seconds}`).toBeLessThan(limit);
    }
  });
};

/** Seconds at which the flash begins. */
export const flashTimes = (frames: readonly MeasuredFrame[]): number[] =>
  frames.flatMap(({ flash, ptsSeconds }, index) =>
    flash > 128 && index > 0 && frames[index - 1]!.flash <= 128 ? [ptsSeconds] : [],
  );

const BEEP_STEPS = 200;

/** Seconds at which the beep begins, to 5 ms. */
export const beepTimesOf = ({ channels, sampleRate, startSeconds }: MeasuredAudio): number[] => {
  const samples = channels[0]!;
  const count = Math.round((2 * sampleRate) / BEEP_STEPS);
  const levels: number[] = [];
  for (let step = 0; ; step++) {
    const from = Math.round((step * sampleRate) / BEEP_STEPS);
    if (from + count > samples.length) break;
    levels.push(measureTone(samples, sampleRate, BEEP, from, count).amplitude);
  }
  return levels.flatMap((level, step) =>
    level > 0.1 && step > 0 && levels[step - 1]! <= 0.1 ? [startSeconds + (step + 1) / BEEP_STEPS] : [],
  );
};

export const beepTimes = (audio: PlayedRendition): number[] =>
  beepTimesOf(readAudio([audio.init, ...audio.segments.map(({ bytes }) => bytes)]));

/**
 * Every flash in the range is heard: a beep within a frame of video or audio of it, when the frames
 * of the source are `delaySeconds` behind their marks.
 * @returns how many flashes there were
 */
export const checkSync = (
  video: PlayedRendition,
  audio: PlayedRendition,
  { frameSeconds = 1 / 30, from = 0, until = Number.POSITIVE_INFINITY, delaySeconds = 0 } = {},
): number => {
  const beeps = beepTimes(audio);
  const flashes = flashTimes(readFrames(video))
    .map((flash) => flash - delaySeconds)
    .filter((flash) => flash > from && flash < until);
  const limit = Math.max(frameSeconds, AAC_FRAME / audio.timescale) + 1 / BEEP_STEPS;
  for (const flash of flashes) {
    const nearest = beeps.reduce((best, beep) => (Math.abs(beep - flash) < Math.abs(best - flash) ? beep : best), 1e9);
    expect.soft(Math.abs(nearest - flash), `${video.url}: beep beside the flash at ${flash}`).toBeLessThan(limit);
  }
  return flashes.length;
};

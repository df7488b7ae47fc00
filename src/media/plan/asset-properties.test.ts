import { describe, expect, test } from 'vitest';
import { audioFacts, sourceFacts, steadyIndex, videoFacts } from '../../../test/support/media/media-values.js';
import type { VideoFacts } from '../source/source-facts.js';
import { describeReadyAsset } from './asset-properties.js';
import { planAsset } from './plan-asset.js';

const describeSource = (video: Partial<VideoFacts>, maxResolutionTier: '1080p' | '1440p' | '2160p' = '2160p') => {
  const facts = sourceFacts({ video: videoFacts(video) });
  const index = { video: steadyIndex(300, 512, 60), discontinuous: false };
  const plan = planAsset({ facts, index, settings: { quality: 'basic', maxResolutionTier, isTest: false } });
  return describeReadyAsset(plan, facts);
};

describe('describeReadyAsset', () => {
  test.each([
    [1280, 720, '720p', 'HD', '16:9'],
    [854, 480, '720p', 'SD', '427:240'],
    [1920, 1080, '1080p', 'HD', '16:9'],
    [1920, 816, '1080p', 'HD', '40:17'],
    [1080, 1920, '1080p', 'HD', '9:16'],
    [2560, 1440, '1440p', 'FHD', '16:9'],
    [3840, 2160, '2160p', 'UHD', '16:9'],
    [1280, 800, '1080p', 'HD', '8:5'],
  ])('%i x %i is %s, %s, %s', (width, height, resolutionTier, maxStoredResolution, aspectRatio) => {
    expect(describeSource({ width, height })).toMatchObject({
      resolutionTier,
      maxStoredResolution,
      aspectRatio,
      videoTrack: { maxWidth: width, maxHeight: height },
    });
  });
  test('what is stored is below the tier', () => {
    expect(describeSource({ width: 3840, height: 2160 }, '1080p')).toMatchObject({
      resolutionTier: '1080p',
      videoTrack: { maxWidth: 1920, maxHeight: 1080 },
    });
  });
  test('the ratio is that of the frame a viewer sees', () => {
    const ntsc = { width: 720, height: 480, sampleAspect: { num: 32, den: 27 } };
    expect(describeSource(ntsc).aspectRatio).toBe('16:9');
    expect(describeSource({ ...ntsc, rotation: 270 }).aspectRatio).toBe('9:16');
  });
  test('gives times and rates of video and audio', () => {
    const facts = sourceFacts({
      video: videoFacts({ durationSeconds: 10.01, timeBase: { num: 1, den: 30_000 } }),
      audio: [audioFacts({ channels: 6, durationSeconds: 10.0266667 })],
    });
    const index = { video: steadyIndex(300, 1001, 60), audio: steadyIndex(470, 1024, 1), discontinuous: false };
    const plan = planAsset({ facts, index, settings: { quality: 'basic', maxResolutionTier: '1080p', isTest: false } });
    expect(describeReadyAsset(plan, facts)).toEqual({
      duration: 10.027,
      aspectRatio: '16:9',
      resolutionTier: '720p',
      maxStoredResolution: 'HD',
      maxStoredFrameRate: 29.97,
      videoTrack: { duration: 10.01, maxWidth: 1280, maxHeight: 720, maxFrameRate: 29.97 },
      audioTrack: { duration: 10.027, maxChannels: 2, maxChannelLayout: 'stereo' },
    });
  });
  test('audio alone', () => {
    const facts = sourceFacts({ audio: [audioFacts({ channels: 1, audioSpecificConfig: 'EYg=' })] });
    const index = { audio: steadyIndex(469, 1024, 1), discontinuous: false };
    const plan = planAsset({ facts, index, settings: { quality: 'basic', maxResolutionTier: '1080p', isTest: false } });
    expect(describeReadyAsset(plan, facts)).toEqual({
      duration: 10.005,
      resolutionTier: 'audio-only',
      maxStoredResolution: 'Audio only',
      audioTrack: { duration: 10.005, maxChannels: 1, maxChannelLayout: 'mono' },
    });
  });
  test('a single frame has no rate', () => {
    const facts = sourceFacts({ video: videoFacts({ frameRate: { num: 0, den: 1 } }) });
    const index = { video: steadyIndex(1, 15_360, 1), discontinuous: false };
    const plan = planAsset({ facts, index, settings: { quality: 'basic', maxResolutionTier: '1080p', isTest: false } });
    expect(describeReadyAsset(plan, facts)).toMatchObject({ duration: 1, maxStoredFrameRate: -1 });
  });
});

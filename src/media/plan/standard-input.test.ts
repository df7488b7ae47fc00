import { describe, expect, test } from 'vitest';
import {
  audioFacts,
  sourceFacts,
  steadyIndex,
  streamIndex,
  videoFacts,
} from '../../../test/support/media/media-values.js';
import type { AudioFacts, VideoFacts } from '../source/source-facts.js';
import type { StreamIndex } from '../source/source-index.js';
import { evaluateInput } from './standard-input.js';

const judge = (
  video: Partial<VideoFacts> | undefined,
  audio: Partial<AudioFacts> = {},
  index: StreamIndex = steadyIndex(300, 512, 60),
  tier: '1080p' | '1440p' | '2160p' = '1080p',
) =>
  evaluateInput(
    sourceFacts({ ...(video && { video: videoFacts(video) }), audio: [audioFacts(audio)] }),
    { video: index, discontinuous: false },
    tier,
  );

describe('judgeInput', () => {
  test('finds nothing in standard input', () => {
    expect(judge({})).toBeUndefined();
    expect(judge({ codec: 'hevc', pixelFormat: 'yuv420p10le', bitDepth: 10, rotation: 90 })).toBeUndefined();
    expect(judge({ pixelFormat: 'yuvj420p', width: 2048, height: 1152 })).toBeUndefined();
  });
  test.each<[Partial<VideoFacts>, object]>([
    [{ codec: 'av1' }, { video_codec: 'av1' }],
    [{ width: 3840, height: 2160 }, { video_resolution: '3840x2160' }],
    [{ width: 1080, height: 2160 }, { video_resolution: '1080x2160' }],
    [{ frameRate: { num: 144, den: 1 } }, { video_frame_rate: '144' }],
    [{ frameRate: { num: 3, den: 1 } }, { video_frame_rate: '3' }],
    [{ frameRate: { num: 0, den: 1 } }, { video_frame_rate: '-1' }],
    [{ pixelFormat: 'yuv422p10le' }, { unsupported_pixel_format: 'yuv422p10le' }],
    [{ pixelFormat: 'yuv420p10le', bitDepth: 10 }, { unsupported_pixel_format: 'yuv420p10le' }],
    [{ sampleAspect: { num: 4, den: 3 } }, { pixel_aspect_ratio: '4:3' }],
    [{ simpleEditList: false }, { video_edit_list: 'non-standard' }],
    [{ interlaced: true }, { unexpected_media_file_parameters: 'non-standard' }],
    [
      { codec: 'prores', pixelFormat: 'yuv422p10le' },
      { video_codec: 'prores', unsupported_pixel_format: 'yuv422p10le' },
    ],
  ])('%o gives %o', (video, reasons) => {
    expect(judge(video)).toEqual(reasons);
  });
  test('allows larger frames in higher tiers', () => {
    expect(judge({ width: 4096, height: 2160 }, {}, undefined, '2160p')).toBeUndefined();
    expect(judge({ width: 5120, height: 2880 }, {}, undefined, '1440p')).toEqual({ video_resolution: '5120x2880' });
  });
  test('measures GOPs', () => {
    expect(judge({}, {}, steadyIndex(900, 512, 9999))).toEqual({ video_gop_size: 'high' });
    expect(judge({}, {}, streamIndex({ pts: [0, 512, 2048, 1024, 1536], keys: [0, 2], lastDuration: 512 }))).toEqual({
      video_gop_size: 'high',
    });
  });
  test('measures the bit rate of every GOP, not the average', () => {
    // 2 s GOPs of 60 frames; 67,000 bytes a frame are 16.08 Mb/s, 66,000 are 15.84
    const size = (second: number) => {
      const index = steadyIndex(300, 512, 60, { sizeBytes: 1000 });
      return { ...index, size: index.size.map((_, packet) => (packet >= 120 && packet < 180 ? second : 1000)) };
    };
    expect(judge({}, {}, size(66_000))).toBeUndefined();
    expect(judge({}, {}, size(67_000))).toEqual({ video_bitrate: 'high' });
    expect(judge({}, {}, size(67_000), '2160p')).toBeUndefined();
    expect(judge({}, {}, steadyIndex(30, 512, 60, { sizeBytes: 67_000 }))).toEqual({ video_bitrate: 'high' });
  });
  test('judges the audio, alone when there is no video', () => {
    expect(judge({}, { codec: 'mp3' })).toEqual({ audio_codec: 'mp3' });
    expect(judge(undefined, { codec: 'opus', simpleEditList: false })).toEqual({
      audio_codec: 'opus',
      audio_edit_list: 'non-standard',
    });
    expect(judge(undefined, {})).toBeUndefined();
  });
});

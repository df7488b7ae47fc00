import { expect, test } from 'vitest';
import { sourceFacts, steadyIndex, videoFacts } from '../../../test/support/media/media-values.js';
import { planAsset } from '../plan/plan-asset.js';
import { imagePlaylist, imageStream, windowStoryboard } from './image-playlist.js';

/** 900 frames, 30 s: boundaries each 4 s. */
const { video } = planAsset({
  facts: sourceFacts({ video: videoFacts({ width: 640, height: 360 }) }),
  index: { video: steadyIndex(900, 512, 60), discontinuous: false },
  settings: { quality: 'basic', maxResolutionTier: '1080p', isTest: false },
});

test('the whole asset is one sheet of fifty tiles', () => {
  const storyboard = windowStoryboard(video!, undefined);
  expect(imagePlaylist(storyboard, 'storyboard.jpg')).toBe(
    [
      '#EXTM3U',
      '#EXT-X-VERSION:7',
      '#EXT-X-TARGETDURATION:30',
      '#EXT-X-MEDIA-SEQUENCE:0',
      '#EXT-X-PLAYLIST-TYPE:VOD',
      '#EXT-X-IMAGES-ONLY',
      '#EXTINF:30.000000,',
      '#EXT-X-TILES:RESOLUTION=256x144,LAYOUT=5x10,DURATION=0.600000',
      'storyboard.jpg',
      '#EXT-X-ENDLIST',
      '',
    ].join('\n'),
  );
  expect(imageStream(video!, undefined, '"images.m3u8"')).toBe(
    '#EXT-X-IMAGE-STREAM-INF:BANDWIDTH=245760,RESOLUTION=256x144,CODECS="jpeg",URI="images.m3u8"',
  );
});

test('an instant clip has the frames of its segments', () => {
  const storyboard = windowStoryboard(video!, { first: 2, end: 4 });
  expect(storyboard.window).toEqual({ startSeconds: 4, endSeconds: 12 });
  expect(imagePlaylist(storyboard, 'x')).toContain('#EXTINF:8.000000,\n#EXT-X-TILES:');
  // A window after the end, possible only in handwritten URLs, is empty.
  expect(windowStoryboard(video!, { first: 90, end: 91 }).tiles).toBe(1);
});

import { describe, expect, test } from 'vitest';
import { audioFacts, sourceFacts, steadyIndex, videoFacts } from '../../../test/support/media/media-values.js';
import { planAsset } from '../plan/plan-asset.js';
import { chooseRenditions, findSegmentWindow, parsePlaybackModifiers } from './playback-modifiers.js';

const NONE = { descending: false, redundantStreams: false, rokuTrickPlay: false, addAudioOnly: false };
const parse = (values: Record<string, unknown>) => parsePlaybackModifiers(values, 30);

describe('parsePlaybackModifiers', () => {
  test('reads every modifier of a query', () => {
    expect(
      parse({
        max_resolution: '1080p',
        min_resolution: '540p',
        rendition_order: 'desc',
        asset_start_time: '1.5',
        asset_end_time: '99',
        default_subtitles_lang: 'pt-BR',
        redundant_streams: 'true',
        roku_trick_play: '1',
        exclude_pdt: '0',
        add_audio_only: '1',
      }),
    ).toEqual({
      maxResolution: 1080,
      minResolution: 540,
      descending: true,
      assetStartSeconds: 1.5,
      assetEndSeconds: 30,
      defaultSubtitlesLang: 'pt-BR',
      redundantStreams: true,
      rokuTrickPlay: true,
      addAudioOnly: true,
    });
  });
  test('reads claims, which may be numbers and booleans', () => {
    expect(parse({ asset_start_time: 2, asset_end_time: 4.25, redundant_streams: true, exclude_pdt: false })).toEqual({
      ...NONE,
      assetStartSeconds: 2,
      assetEndSeconds: 4.25,
      redundantStreams: true,
    });
  });
  test('ignores empty values, unknown names and inherited ones', () => {
    expect(parse({ max_resolution: '', token: 'x', CMCD: 'br=1', asset_start_time: undefined })).toEqual(NONE);
    expect(parse(Object.create({ max_resolution: 'bad' }))).toEqual(NONE);
  });
  test.each<[Record<string, unknown>, string]>([
    [{ max_resolution: '721p' }, 'Invalid parameter: max_resolution'],
    [{ max_resolution: '720p\n' }, 'Invalid parameter: max_resolution'],
    [{ max_resolution: ['720p', '480p'] }, 'Invalid parameter: max_resolution'],
    [{ min_resolution: '1080' }, 'Invalid parameter: min_resolution'],
    [{ min_resolution: '1080p', max_resolution: '720p' }, 'Invalid parameter: min_resolution'],
    [{ rendition_order: 'asc' }, 'Invalid parameter: rendition_order'],
    [{ redundant_streams: 'yes' }, 'Invalid parameter: redundant_streams'],
    [{ roku_trick_play: 'yes' }, 'Invalid parameter: roku_trick_play'],
    [{ exclude_pdt: 2 }, 'Invalid parameter: exclude_pdt'],
    [{ add_audio_only: 'TRUE' }, 'Invalid parameter: add_audio_only'],
    [{ default_subtitles_lang: 'de"' }, 'Invalid parameter: default_subtitles_lang'],
    [{ asset_start_time: 'abc' }, 'Invalid parameter: asset_start_time'],
    [{ asset_start_time: 'Infinity' }, 'Invalid parameter: asset_start_time'],
    [{ asset_start_time: '0x10' }, 'Invalid parameter: asset_start_time'],
    [{ asset_end_time: 'abc' }, 'Invalid parameter: asset_end_time'],
    [{ asset_start_time: '-1' }, 'Invalid parameter: asset_start_time'],
    [{ asset_start_time: '30' }, 'Invalid parameter: asset_start_time'],
    [{ asset_start_time: '5', asset_end_time: '5' }, 'Invalid parameter: asset_start_time'],
    [{ asset_end_time: '0' }, 'Invalid parameter: asset_start_time'],
    [{ program_start_time: '1700000000' }, 'Invalid parameter: program_start_time'],
    [{ program_end_time: '1700000000' }, 'Invalid parameter: program_start_time'],
    [{ program_start_time: '1', asset_start_time: '1' }, 'Invalid parameter'],
  ])('refuses %o', (values, invalid) => {
    expect(parse(values)).toEqual({ invalid });
  });
});

const plan = planAsset({
  facts: sourceFacts({ video: videoFacts({ width: 1920, height: 1080, codec: 'vp9' }), audio: [audioFacts()] }),
  index: { video: steadyIndex(900, 512, 60), audio: steadyIndex(1407, 1024, 1), discontinuous: false },
  settings: { quality: 'plus', maxResolutionTier: '1080p', isTest: false },
});

describe('chooseRenditions', () => {
  const names = (modifiers: object) =>
    chooseRenditions(plan.video!, { descending: false, ...modifiers })
      .map(({ name }) => name)
      .join(' ');
  test.each([
    [{}, '480p 270p 360p 720p 1080p'],
    [{ descending: true }, '1080p 720p 480p 360p 270p'],
    [{ maxResolution: 720 }, '480p 270p 360p 720p'],
    [{ maxResolution: 540 }, '480p 270p 360p'],
    [{ maxResolution: 360 }, '270p 360p'],
    [{ minResolution: 720 }, '720p 1080p'],
    [{ minResolution: 1440 }, '1080p'],
    [{ maxResolution: 540, minResolution: 540 }, '480p'],
    [{ maxResolution: 720, minResolution: 360, descending: true }, '720p 480p 360p'],
  ])('%o lists %s', (modifiers, expected) => {
    expect(names(modifiers)).toBe(expected);
  });
  test('keeps the lowest when everything is above the maximum', () => {
    const renditions = plan.video!.renditions.slice(2);
    const chosen = chooseRenditions({ ...plan.video!, renditions }, { descending: false, maxResolution: 270 });
    expect(chosen.map(({ name }) => name)).toEqual(['480p']);
  });
});

describe('findSegmentWindow', () => {
  // Segments begin at 0, 4, 8 … 28; the last one is [24, 30.016).
  test.each([
    [0, 30, 0, 7],
    [0, 4, 0, 1],
    [3.99, 4.01, 0, 2],
    [4, 8, 1, 2],
    [5, 5.1, 1, 2],
    [29, 30, 7, 8],
  ])('from %f to %f are the segments [%i, %i)', (assetStartSeconds, assetEndSeconds, first, end) => {
    const boundaries = [0, 4, 8, 12, 16, 20, 24, 28, 32].map((seconds) => seconds * 15_360);
    const cut = { ...plan, video: { ...plan.video!, boundaries } };
    const expected = assetEndSeconds === 30 ? { first, end: 8 } : { first, end };
    expect(findSegmentWindow(cut, { assetStartSeconds, assetEndSeconds })).toEqual(expected);
  });
  test('reaches to the ends where nothing is said', () => {
    const count = plan.video!.boundaries.length - 1;
    expect(findSegmentWindow(plan, { assetStartSeconds: 9 })).toEqual({ first: 3, end: count });
    expect(findSegmentWindow(plan, { assetEndSeconds: 9 })).toEqual({ first: 0, end: 4 });
    expect(findSegmentWindow(plan, {})).toBeUndefined();
  });
  test('uses the segments of the audio where there is no video', () => {
    const { video: _, ...audioOnly } = plan;
    // The third audio segment begins after 4.004 s: 188 frames x 1024 / 48000 = 4.0107
    expect(findSegmentWindow(audioOnly, { assetStartSeconds: 4.01, assetEndSeconds: 5 })).toEqual({ first: 1, end: 3 });
  });
});

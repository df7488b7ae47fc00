import { describe, expect, test } from 'vitest';
import { audioFacts, sourceFacts, steadyIndex, videoFacts } from '../../../test/support/media/media-values.js';
import { planAsset } from '../plan/plan-asset.js';
import { mediaPlaylist, multivariantPlaylist } from './hls.js';
import type { HlsAudioTrack, HlsChild, HlsTextTrack } from './multivariant.js';
import { parsePlaybackModifiers } from './playback-modifiers.js';

const settings = { quality: 'plus', maxResolutionTier: '1080p', isTest: false } as const;
const audio = steadyIndex(469, 1024, 1, { sizeBytes: 341 });
const timeBase = { num: 1, den: 30_000 };
/** 300 frames at 29.97 a second, 10.01 s; the top rung is a copy. */
const plan = planAsset({
  facts: sourceFacts({
    video: videoFacts({ timeBase, frameRate: { num: 30_000, den: 1001 }, width: 640, height: 360 }),
    audio: [audioFacts()],
  }),
  index: { video: steadyIndex(300, 1001, 60), audio: audio, discontinuous: false },
  settings,
});
const audioPlan = planAsset({
  facts: sourceFacts({ audio: [audioFacts()] }),
  index: { audio: audio, discontinuous: false },
  settings,
});

const primary: HlsAudioTrack = {
  rendition: 'A1',
  name: 'Default',
  languageCode: 'en',
  primary: true,
  audio: plan.audio!,
};
const text = (id: string, languageCode: string, closedCaptions = false): HlsTextTrack => ({
  id,
  name: `Text ${id}`,
  languageCode,
  closedCaptions,
});
const uri = (child: HlsChild): string => {
  if (child.kind === 'images') return 'images.m3u8';
  const name = child.kind === 'text' ? child.trackId : child.rendition;
  const window = child.window ? `-${child.window.first}-${child.window.end}` : '';
  return `${child.kind}/${name}${window}.m3u8${child.redundant ? '?r=1' : ''}`;
};
const multivariant = (
  changes: Partial<Parameters<typeof multivariantPlaylist>[0]> = {},
  query: Record<string, string> = {},
): string[] => {
  const modifiers = parsePlaybackModifiers(query, plan.durationSeconds);
  if ('invalid' in modifiers) throw new Error(modifiers.invalid);
  return multivariantPlaylist({ plan, audioTracks: [primary], textTracks: [], modifiers, uri, ...changes }).split('\n');
};

describe('multivariantPlaylist', () => {
  test('lists video, audio and title', () => {
    expect(multivariant({ title: 'Harbor walk', chaptersUri: 'https://kinora.example/p/metadata.json' })).toEqual([
      '#EXTM3U',
      '#EXT-X-VERSION:7',
      '#EXT-X-INDEPENDENT-SEGMENTS',
      '#EXT-X-SESSION-DATA:DATA-ID="com.apple.hls.title",VALUE="Harbor walk"',
      '#EXT-X-SESSION-DATA:DATA-ID="com.apple.hls.chapters",URI="https://kinora.example/p/metadata.json"',
      '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aud",NAME="Default",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="audio/A1.m3u8"',
      // 400 kb/s x 1.1 + 127,875 bit/s of copied audio
      '#EXT-X-STREAM-INF:BANDWIDTH=318159,RESOLUTION=480x270,FRAME-RATE=29.970,CODECS="avc1.640015,mp4a.40.2",AUDIO="aud",CLOSED-CAPTIONS=NONE',
      'video/270p.m3u8',
      // 120 frames of 1,000 bytes in 4.004 s: 239,761 bit/s
      '#EXT-X-STREAM-INF:BANDWIDTH=379421,AVERAGE-BANDWIDTH=372728,RESOLUTION=640x360,FRAME-RATE=29.970,CODECS="avc1.64001f,mp4a.40.2",AUDIO="aud",CLOSED-CAPTIONS=NONE',
      'video/360p.m3u8',
      '',
    ]);
  });
  test('cannot be broken by names and titles', () => {
    const hostile = 'A "b"\r\n#EXT-X-KEY:METHOD=NONE\u2028\u0000c';
    const lines = multivariant({ title: hostile, audioTracks: [{ ...primary, name: hostile }] });
    const harmless = `"A 'b' #EXT-X-KEY:METHOD=NONE c"`;
    expect(lines[3]).toBe(`#EXT-X-SESSION-DATA:DATA-ID="com.apple.hls.title",VALUE=${harmless}`);
    expect(lines[4]).toContain(`NAME=${harmless},LANGUAGE`);
    expect(lines.filter((line) => line.startsWith('#EXT-X-KEY'))).toEqual([]);
  });
  test('groups alternate audio and text', () => {
    const spanish = { ...primary, rendition: 'A2', name: 'Español', languageCode: 'es', primary: false };
    const lines = multivariant({ audioTracks: [primary, spanish], textTracks: [text('T1', 'de', true)] });
    expect(lines).toContain(
      '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aud",NAME="Español",LANGUAGE="es",DEFAULT=NO,AUTOSELECT=YES,CHANNELS="2",URI="audio/A2.m3u8"',
    );
    expect(lines).toContain(
      '#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="sub",NAME="Text T1",LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,CHARACTERISTICS="public.accessibility.transcribes-spoken-dialog,public.accessibility.describes-music-and-sound",URI="text/T1.m3u8"',
    );
    expect(lines.filter((line) => line.includes('AUDIO="aud",SUBTITLES="sub"'))).toHaveLength(2);
  });
  test('promises enough for the richest track, and names that differ', () => {
    const rich = { ...plan.audio!, bandwidth: 200_000, bitRate: 190_000 };
    const further = ['Default', 'Default', 'A "b"', "A 'b'"].map((name, index) => {
      return { ...primary, rendition: `A${index + 2}`, name, primary: false, audio: rich };
    });
    const lines = multivariant({ audioTracks: [primary, ...further] });
    expect(lines.flatMap((line) => /TYPE=AUDIO.*NAME="([^"]*)"/.exec(line)?.[1] ?? [])).toEqual([
      'Default',
      'Default (2)',
      'Default (3)',
      "A 'b'",
      "A 'b' (2)",
    ]);
    const bandwidth = (line: string): number => Number(/[:,]BANDWIDTH=(\d+)/.exec(line)?.[1] ?? 0);
    const withOne = multivariant().map(bandwidth).filter(Boolean);
    const withAll = lines.map(bandwidth).filter(Boolean);
    expect(withAll).toEqual(withOne.map((bits) => bits - plan.audio!.bandwidth + 200_000));
  });
  test.each([
    ['de', 'T2'],
    ['DE', 'T2'],
    ['de-CH', 'T1'],
    ['fr', 'T3'],
    ['pl', undefined],
  ])('default_subtitles_lang %s makes %s the default', (language, id) => {
    const textTracks = [text('T1', 'de-AT'), text('T2', 'de'), text('T3', 'fr-CA')];
    const chosen = multivariant({ textTracks }, { default_subtitles_lang: language }).filter((line) =>
      /TYPE=SUBTITLES.*DEFAULT=YES/.test(line),
    );
    expect(chosen.map((line) => /text\/(T\d)/.exec(line)?.[1])).toEqual(id ? [id] : []);
  });
  const addresses = (lines: string[]): string[] => lines.filter((line) => line !== '' && !line.startsWith('#'));
  test('redundant_streams lists every variant again at another address', () => {
    const lines = addresses(multivariant({}, { redundant_streams: 'true', rendition_order: 'desc' }));
    expect(lines).toEqual(['video/360p.m3u8', 'video/270p.m3u8', 'video/360p.m3u8?r=1', 'video/270p.m3u8?r=1']);
  });
  test('roku_trick_play adds frames for previews, of an instant clip those of its segments', () => {
    const imagesOf = (query: Record<string, string>) =>
      multivariant({}, query).filter((line) => line.startsWith('#EXT-X-IMAGE-STREAM-INF:'));
    expect(imagesOf({})).toEqual([]);
    expect(imagesOf({ roku_trick_play: 'false' })).toEqual([]);
    expect(imagesOf({ roku_trick_play: 'true' })).toEqual([
      '#EXT-X-IMAGE-STREAM-INF:BANDWIDTH=736544,RESOLUTION=256x144,CODECS="jpeg",URI="images.m3u8"',
    ]);
    expect(multivariant({ plan: audioPlan }, { roku_trick_play: 'true' }).join()).not.toContain('IMAGE');
  });
  test('add_audio_only adds a variant without video', () => {
    const lines = multivariant({}, { add_audio_only: 'true' });
    expect(lines.slice(-3)).toEqual([
      '#EXT-X-STREAM-INF:BANDWIDTH=134370,CODECS="mp4a.40.2",AUDIO="aud",CLOSED-CAPTIONS=NONE',
      'audio/A1.m3u8',
      '',
    ]);
  });
  test('an instant clip hands its segments to every child', () => {
    const lines = multivariant({ textTracks: [text('T1', 'de')] }, { asset_start_time: '5', asset_end_time: '6' });
    expect(addresses(lines)).toEqual(['video/270p-1-2.m3u8', 'video/360p-1-2.m3u8']);
    expect(lines.join('\n')).toContain('URI="audio/A1-1-2.m3u8"');
    expect(lines.join('\n')).toContain('URI="text/T1-1-2.m3u8"');
  });
  test('audio alone is one variant without resolution, whatever the filters', () => {
    expect(multivariant({ plan: audioPlan }, { max_resolution: '270p', add_audio_only: 'true' })).toEqual([
      '#EXTM3U',
      '#EXT-X-VERSION:7',
      '#EXT-X-INDEPENDENT-SEGMENTS',
      '#EXT-X-STREAM-INF:BANDWIDTH=134370,CODECS="mp4a.40.2"',
      'audio/A1.m3u8',
      '',
    ]);
  });
  test('video without audio names no audio', () => {
    const { audio: _, ...silent } = plan;
    const lines = multivariant({ plan: silent, audioTracks: [] }).join('\n');
    expect(lines).not.toContain('mp4a');
    expect(lines).not.toContain('AUDIO');
    expect(lines).toContain(
      'BANDWIDTH=183789,RESOLUTION=480x270,FRAME-RATE=29.970,CODECS="avc1.640015",CLOSED-CAPTIONS=NONE',
    );
  });
});

describe('mediaPlaylist', () => {
  const playlist = (kind: 'video' | 'audio', window?: { first: number; end: number }, part = plan[kind]!) =>
    mediaPlaylist({
      part,
      grid: plan.video!,
      initUri: 'init.mp4',
      segmentUri: (n) => `${n}.m4s`,
      ...(window && { window }),
    });

  test('has the exact durations of the grid', () => {
    expect(playlist('video')).toBe(
      [
        '#EXTM3U',
        '#EXT-X-VERSION:7',
        '#EXT-X-TARGETDURATION:5',
        '#EXT-X-MEDIA-SEQUENCE:0',
        '#EXT-X-PLAYLIST-TYPE:VOD',
        '#EXT-X-INDEPENDENT-SEGMENTS',
        '#EXT-X-MAP:URI="init.mp4"',
        '#EXTINF:4.004000,',
        '0.m4s',
        '#EXTINF:4.004000,',
        '1.m4s',
        '#EXTINF:2.002000,',
        '2.m4s',
        '#EXT-X-ENDLIST',
        '',
      ].join('\n'),
    );
  });
  test('counts audio in frames of 1,024 samples', () => {
    // 188, 375 and 469 frames: 4.010667, 8.000000, 10.005333 s
    expect(playlist('audio').match(/EXTINF:[\d.]+/g)).toEqual([
      'EXTINF:4.010667',
      'EXTINF:3.989333',
      'EXTINF:2.005333',
    ]);
  });
  test('a window keeps the numbers of the segments', () => {
    expect(playlist('video', { first: 1, end: 99 }).match(/^\d+\.m4s$/gm)).toEqual(['1.m4s', '2.m4s']);
  });
  test('the target duration is the same for video, audio and every window', () => {
    const targetOf = (text: string) => /TARGETDURATION:(\d+)/.exec(text)![1];
    // Exactly 4 s of video; the first audio segment ends 11 ms later.
    const video = { ...plan.video!, timescale: 1, boundaries: [0, 4, 8, 10] };
    const target = (part: typeof video | NonNullable<typeof plan.audio>, window?: { first: number; end: number }) =>
      targetOf(mediaPlaylist({ part, grid: video, initUri: 'i', segmentUri: String, ...(window && { window }) }));
    expect([target(video), target(plan.audio!), target(video, { first: 2, end: 3 })]).toEqual(['4', '4', '4']);
  });
  test('the target duration of an alternate audio track that ends later covers its last segment', () => {
    const { audio } = plan;
    const longer = { ...audio!, boundaries: [...audio!.boundaries.slice(0, -1), audio!.boundaries.at(-1)! + 400] };
    expect(playlist('audio', undefined, longer)).toContain('EXT-X-TARGETDURATION:11\n');
  });
  test('rounding never adds up', () => {
    const boundaries = Array.from({ length: 2001 }, (_, index) => index * 4001);
    const part = { ...plan.video!, timescale: 999, boundaries };
    const text = mediaPlaylist({ part, grid: part, initUri: 'i', segmentUri: String });
    const sum = [...text.matchAll(/EXTINF:([\d.]+)/g)].reduce((total, [, seconds]) => total + Number(seconds), 0);
    expect(sum).toBeCloseTo((2000 * 4001) / 999, 5);
  });
});

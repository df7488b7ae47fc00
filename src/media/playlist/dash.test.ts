import { DOMParser, type Element } from '@xmldom/xmldom';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { audioFacts, sourceFacts, steadyIndex, videoFacts } from '../../../test/support/media/media-values.js';
import type { Plan } from '../plan/plan.js';
import { planAsset } from '../plan/plan-asset.js';
import { type DashAudioTrack, dashManifest } from './dash.js';
import type { HlsTextTrack } from './multivariant.js';
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
  index: { video: steadyIndex(300, 1001, 60), audio, discontinuous: false },
  settings,
});
const audioPlan = planAsset({
  facts: sourceFacts({ audio: [audioFacts()] }),
  index: { audio, discontinuous: false },
  settings,
});

const track = (changes: Partial<DashAudioTrack> = {}): DashAudioTrack => ({
  rendition: 'audio',
  name: 'Default',
  languageCode: 'en',
  primary: true,
  audio: plan.audio!,
  ...changes,
});
const text: HlsTextTrack = { id: 'T1', name: 'Deutsch', languageCode: 'de', closedCaptions: false };

const manifest = (changes: Partial<Parameters<typeof dashManifest>[0]> = {}, query: Record<string, string> = {}) => {
  const modifiers = parsePlaybackModifiers(query, plan.durationSeconds);
  if ('invalid' in modifiers) throw new Error(modifiers.invalid);
  return dashManifest({
    hasPreviews: true,
    plan,
    audioTracks: [track()],
    textTracks: [],
    modifiers,
    uri: (child, file) => {
      const name = 'rendition' in child ? child.rendition : child.kind;
      return `id/2/${name}/${file}${child.window ? `?segments=${child.window.first}-${child.window.end}&s=1` : ''}`;
    },
    ...changes,
  });
};
const parse = (xml: string): Element =>
  new DOMParser({
    onError: (level, message) => {
      // The parser rejects U+FFFD, although it is a valid character.
      if (level !== 'warning') throw new Error(`${level}: ${message}`);
    },
  }).parseFromString(xml, 'text/xml').documentElement!;
const all = (parent: Element, name: string): Element[] => Array.from(parent.getElementsByTagName(name));
const setsOf = (root: Element, kind: string): Element[] =>
  all(root, 'AdaptationSet').filter((set) => set.getAttribute('contentType') === kind);
/** Start and end of each segment of a set, in ticks. */
const timesOf = (set: Element): [number, number][] => {
  let now = 0;
  return all(set, 'S').flatMap((run) => {
    now = Number(run.getAttribute('t') ?? now);
    return Array.from({ length: Number(run.getAttribute('r') ?? 0) + 1 }, () => {
      const start = now;
      now += Number(run.getAttribute('d'));
      return [start, now] as [number, number];
    });
  });
};
const pairs = (boundaries: readonly number[], factor = 1): [number, number][] =>
  boundaries.slice(1).map((end, segment) => [boundaries[segment]! * factor, end * factor]);

describe('dashManifest', () => {
  test('lists video, audio and frames for previews', () => {
    expect(manifest({ title: 'Harbour <walk>' }).split('\n')).toEqual([
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011,urn:mpeg:dash:profile:cmaf:2019" type="static" mediaPresentationDuration="PT10.011S" minBufferTime="PT2S">',
      '<ProgramInformation>',
      '<Title>Harbour &#60;walk&#62;</Title>',
      '</ProgramInformation>',
      '<Period id="0" start="PT0S">',
      '<AdaptationSet id="0" contentType="video" mimeType="video/mp4" segmentAlignment="true" startWithSAP="1" sar="1:1">',
      '<Role schemeIdUri="urn:mpeg:dash:role:2011" value="main"/>',
      '<SegmentTemplate timescale="30000" startNumber="0">',
      '<SegmentTimeline>',
      '<S t="0" d="120120" r="1"/>',
      '<S d="60060"/>',
      '</SegmentTimeline>',
      '</SegmentTemplate>',
      '<Representation id="270p" codecs="avc1.640015" bandwidth="183789" width="480" height="270" frameRate="30000/1001">',
      '<SegmentTemplate initialization="id/2/270p/init.mp4" media="id/2/270p/$Number$.m4s"/>',
      '</Representation>',
      '<Representation id="360p" codecs="avc1.64001f" bandwidth="245051" width="640" height="360" frameRate="30000/1001">',
      '<SegmentTemplate initialization="id/2/360p/init.mp4" media="id/2/360p/$Number$.m4s"/>',
      '</Representation>',
      '</AdaptationSet>',
      '<AdaptationSet id="1" contentType="audio" mimeType="audio/mp4" lang="en" segmentAlignment="true" startWithSAP="1">',
      '<Label>Default</Label>',
      '<Role schemeIdUri="urn:mpeg:dash:role:2011" value="main"/>',
      '<SegmentTemplate timescale="48000" startNumber="0" initialization="id/2/audio/init.mp4" media="id/2/audio/$Number$.m4s">',
      '<SegmentTimeline>',
      '<S t="0" d="192512"/>',
      '<S d="191488"/>',
      '<S d="96256"/>',
      '</SegmentTimeline>',
      '</SegmentTemplate>',
      '<Representation id="audio" codecs="mp4a.40.2" bandwidth="134370" audioSamplingRate="48000">',
      '<AudioChannelConfiguration schemeIdUri="urn:mpeg:dash:23003:3:audio_channel_configuration:2011" value="2"/>',
      '</Representation>',
      '</AdaptationSet>',
      '<AdaptationSet id="2" contentType="image" mimeType="image/jpeg">',
      '<SegmentTemplate media="id/2/images/storyboard.jpg" timescale="1000" duration="10010" startNumber="1"/>',
      '<Representation id="images" bandwidth="736544" width="1280" height="1440">',
      '<EssentialProperty schemeIdUri="http://dashif.org/guidelines/thumbnail_tile" value="5x10"/>',
      '</Representation>',
      '</AdaptationSet>',
      '</Period>',
      '</MPD>',
      '',
    ]);
  });

  test('has the times of the plan, whatever they are', () => {
    const starts = fc.array(fc.integer({ min: 1, max: 900_000 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(starts, fc.integer({ min: 1, max: 1_000_000 }), (lengths, timescale) => {
        const boundaries = [0];
        for (const length of lengths) boundaries.push(boundaries.at(-1)! + length);
        const changed: Plan = {
          ...plan,
          durationSeconds: boundaries.at(-1)! / timescale,
          video: { ...plan.video!, boundaries, timescale },
        };
        const root = parse(manifest({ plan: changed }));
        expect(timesOf(setsOf(root, 'video')[0]!)).toEqual(pairs(boundaries));
        const declared = Number(/^PT(.+)S$/.exec(root.getAttribute('mediaPresentationDuration')!)![1]);
        const end = Math.max(changed.durationSeconds, (469 * 1024) / 48_000);
        expect(declared).toBeGreaterThan(end);
        expect(declared - end).toBeLessThan(0.001_001);
      }),
    );
    expect(timesOf(setsOf(parse(manifest()), 'audio')[0]!)).toEqual(pairs(plan.audio!.boundaries, 1024));
  });

  test('of an instant clip begins at zero with the segment that holds the start', () => {
    const root = parse(manifest({ textTracks: [text] }, { asset_start_time: '4.5' }));
    const [video, audio] = [setsOf(root, 'video')[0]!, setsOf(root, 'audio')[0]!];
    const template = (set: Element) => all(set, 'SegmentTemplate')[0]!;
    expect(root.getAttribute('mediaPresentationDuration')).toBe('PT6.007S');
    expect(timesOf(video)).toEqual(pairs(plan.video!.boundaries).slice(1));
    expect(template(video).getAttribute('startNumber')).toBe('1');
    // 4.004 s; the audio begins with the AAC frame nearest to it.
    expect(template(video).getAttribute('presentationTimeOffset')).toBe('120120');
    expect(template(audio).getAttribute('presentationTimeOffset')).toBe('192192');
    expect(timesOf(audio)[0]![0]).toBe(192_512);
    expect(all(root, 'BaseURL')[0]!.textContent).toBe('id/2/text/text.vtt?segments=1-3&s=1');
    expect(template(setsOf(root, 'image')[0]!).getAttribute('duration')).toBe('6006');
  });

  test('tells languages, names and roles apart', () => {
    const spanish = track({ rendition: 'audio-A2', name: 'Español', languageCode: 'es', primary: false });
    const captions = { id: 'T2', name: 'Captions', languageCode: 'en-US', closedCaptions: true };
    const root = parse(
      manifest({ audioTracks: [track(), spanish], textTracks: [text, captions] }, { default_subtitles_lang: 'en' }),
    );
    const described = (kind: string) =>
      setsOf(root, kind).map((set) => [
        set.getAttribute('lang'),
        all(set, 'Label')[0]!.textContent,
        ...all(set, 'Role').map((role) => role.getAttribute('value')),
      ]);
    expect(described('audio')).toEqual([
      ['en', 'Default', 'main'],
      ['es', 'Español', 'alternate'],
    ]);
    expect(described('text')).toEqual([
      ['de', 'Deutsch', 'subtitle'],
      ['en-US', 'Captions', 'main', 'caption'],
    ]);
    const ids = all(root, 'AdaptationSet').map((set) => set.getAttribute('id'));
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('has the variants that the modifiers leave, in the order of the playlist', () => {
    const names = (query: Record<string, string>) =>
      all(setsOf(parse(manifest({}, query)), 'video')[0]!, 'Representation').map((one) => one.getAttribute('id'));
    expect(names({ rendition_order: 'desc', redundant_streams: 'true' })).toEqual(['360p', '270p']);
    expect(names({ max_resolution: '270p' })).toEqual(['270p']);
    expect(names({ min_resolution: '360p' })).toEqual(['360p']);
  });

  test('of sound alone has one set', () => {
    const root = parse(manifest({ plan: audioPlan, audioTracks: [track({ audio: audioPlan.audio! })] }));
    expect(all(root, 'AdaptationSet').map((set) => set.getAttribute('contentType'))).toEqual(['audio']);
    expect(timesOf(setsOf(root, 'audio')[0]!)).toEqual(pairs(audioPlan.audio!.boundaries, 1024));
  });

  test('tells of keys per set', () => {
    const key = (digit: number) => ({
      kid: new Uint8Array(16).fill(digit),
      systems: [
        { systemId: 'edef8ba9-79d6-4ace-a3c8-27dcd51d21ed', pssh: 'AAAA' },
        { systemId: 'e2719d58-a985-b3c9-781a-b030af78d30e' },
      ],
    });
    const root = parse(manifest({ keys: { video: key(0x11), audio: key(0x22) } }));
    for (const [kind, digit] of [
      ['video', '1'],
      ['audio', '2'],
    ] as const) {
      const [scheme, widevine, clearKey] = all(setsOf(root, kind)[0]!, 'ContentProtection');
      expect(scheme!.getAttribute('value')).toBe('cbcs');
      expect(scheme!.getAttribute('cenc:default_KID')).toBe(
        'dddddddd-dddd-dddd-dddd-dddddddddddd'.replaceAll('d', digit),
      );
      expect(widevine!.getAttribute('schemeIdUri')).toBe('urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed');
      expect(all(widevine!, 'cenc:pssh')[0]!.textContent).toBe('AAAA');
      expect(all(clearKey!, 'cenc:pssh')).toEqual([]);
    }
    expect(setsOf(root, 'image')[0]!.getElementsByTagName('ContentProtection')).toHaveLength(0);
  });

  test('is well-formed whatever names, titles and addresses are', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('</Label>', '"><S/>', ']]>&', '\u0000\ud800'),
    );
    fc.assert(
      fc.property(texts, texts, texts, texts, (title, name, languageCode, query) => {
        const root = parse(
          manifest({
            title,
            audioTracks: [track({ name, languageCode })],
            textTracks: [{ id: 'T', name, languageCode, closedCaptions: false }],
            uri: (_, file) => `${file}?${query}`,
          }),
        );
        expect(all(root, 'AdaptationSet')).toHaveLength(4);
      }),
      { numRuns: 50 },
    );
  });
});

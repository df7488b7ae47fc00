import { describe, expect, test } from 'vitest';
import { languageCodeOf } from './languages.js';
import { parseTranscript } from './parse-transcript.js';

const WORDS = [
  { startMs: 500, endMs: 900, text: 'Bonjour' },
  { startMs: 1000, endMs: 1600, text: 'Kinora.' },
];
const parse = (response: object) => parseTranscript(JSON.stringify(response), 3000);

describe('what a recognizer wrote', () => {
  test('as JSON with words at top level, as OpenAI answers', () => {
    const words = [
      { word: 'Bonjour', start: 0.5, end: 0.9 },
      { word: 'Kinora.', start: 1, end: 1.6 },
    ];
    const response = { task: 'transcribe', language: 'french', text: 'Bonjour Kinora.', words, segments: [] };
    expect(parse(response)).toEqual({ language: 'fr', words: WORDS });
  });

  test('as JSON with words inside segments, as the server of whisper.cpp answers', () => {
    const words = [
      { word: ' Bonjour', start: 0.5, end: 0.9, t_dtw: -1, probability: 0.9 },
      { word: ' Kinora.', start: 1, end: 1.6, t_dtw: -1, probability: 0.8 },
    ];
    const response = {
      language: 'french',
      detected_language: 'french',
      detected_language_probability: 0.93,
      text: ' Bonjour Kinora.\n',
      segments: [{ id: 0, text: ' Bonjour Kinora.', start: 0, end: 1.6, words }],
    };
    expect(parse(response)).toEqual({ language: 'fr', confidence: 0.93, words: WORDS });
  });

  test('as JSON with segments only, or with nothing but text: words share the time by their length', () => {
    const segments = [{ start: 0, end: 1.4, text: ' Bonjour Kinora.' }];
    const shared = [
      { startMs: 0, endMs: 700, text: 'Bonjour' },
      { startMs: 700, endMs: 1400, text: 'Kinora.' },
    ];
    expect(parse({ segments })).toEqual({ words: shared });
    expect(parse({ text: 'un mot' })!.words).toEqual([
      { startMs: 0, endMs: 1200, text: 'un' },
      { startMs: 1200, endMs: 3000, text: 'mot' },
    ]);
    expect(parse({ text: '' })).toEqual({ words: [] });
  });

  test('as JSON of the command line of whisper.cpp', () => {
    const transcription = [{ offsets: { from: 0, to: 1400 }, text: ' Bonjour Kinora.' }];
    expect(parse({ result: { language: 'fr' }, transcription })).toMatchObject({
      language: 'fr',
      words: [{ text: 'Bonjour' }, { text: 'Kinora.' }],
    });
  });

  test('as SubRip or WebVTT', () => {
    const cue = '00:00:00,000 --> 00:00:01,400\n<i>Bonjour</i> Kinora.\n';
    const words = [{ text: 'Bonjour' }, { text: 'Kinora.', endMs: 1400 }];
    expect(parseTranscript(`1\n${cue}`, 3000)).toMatchObject({ words });
    expect(parseTranscript(`WEBVTT\n\n${cue.replaceAll(',', '.')}`, 3000)).toMatchObject({ words });
    expect(parseTranscript('WEBVTT\n', 3000)).toEqual({ words: [] });
  });

  test('as something else is refused, and wrong values are left out', () => {
    for (const text of ['<html></html>', 'Bonjour', '{', '{"answer":1}', '[]', '{"words":3}'])
      expect([text, parseTranscript(text, 3000)]).toEqual([text, undefined]);
    const words = [
      { word: 3, start: 0, end: 1 },
      { word: 'a', start: 'x', end: 1 },
      null,
      { word: 'b', start: 2, end: 1 },
    ];
    expect(parse({ words })).toEqual({ words: [{ startMs: 2000, endMs: 2000, text: 'b' }] });
  });
});

test('languages are known by code and by name', () => {
  const asked = 'en es it pt de fr pl ru nl ca tr sv uk no fi sk el cs hr da ro bg'.split(' ');
  expect(asked.map(languageCodeOf)).toEqual(asked);
  const names = new Intl.DisplayNames('en', { type: 'language' });
  expect(asked.map((code) => languageCodeOf(names.of(code)!))).toEqual(asked);
  expect(['Castilian', 'pt-BR', 'en_US', 'GREEK', 'klingon', ''].map(languageCodeOf)).toEqual([
    'es',
    'pt',
    'en',
    'el',
    undefined,
    undefined,
  ]);
});

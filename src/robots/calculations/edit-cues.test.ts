import { describe, expect, test } from 'vitest';
import { type CueEdits, cueText, editCues, plainText } from './edit-cues.js';

const none: CueEdits = { replacements: [], speakers: [], censored: [], mode: 'blank' };
const edit = (text: string, edits: Partial<CueEdits>) => {
  const { cues, count } = editCues([{ startSeconds: 0, endSeconds: 1, settings: '', text }], { ...none, ...edits });
  return [cues[0]?.text, count];
};

describe('replacements', () => {
  test.each([
    ['whole words, whatever their case', 'Gonna gonnabe GONNA', 'gonna', 'will', 'will gonnabe will', 2],
    ['phrases over line ends', 'New\nYork', 'new york', 'Paris', 'Paris', 1],
    ['signs as they stand', 'a.b axb', 'a.b', 'c', 'c axb', 1],
    ['letters of every script', 'Über über-all', 'über', 'x', 'x x-all', 2],
    ['only text, not tags', '<b>b</b> <v b>b', 'b', 'c', '<b>c</b> <v b>c', 2],
    ['escaped text', 'Tom &amp; Jerry', 'tom & jerry', 'A < B', 'A &lt; B', 1],
    ['nothing with what looks like a pattern', 'x', '$', '$&', 'x', 0],
    ['with what looks like a group', 'x', 'x', '$&$1', '$&amp;$1', 1],
  ])('change %s', (_, text, find, replace, expected, count) => {
    expect(edit(text, { replacements: [{ find, replace }] })).toEqual([expected, count]);
  });

  test('keep to the case when they are told to', () => {
    expect(edit('Mux mux', { replacements: [{ find: 'mux', replace: 'm', case_sensitive: true }] })).toEqual([
      'Mux m',
      1,
    ]);
  });

  test('can end neither a cue nor a tag', () => {
    const replacements = [{ find: 'x', replace: '<script>\n\n00:00 --> 00:01\n' }];
    expect(edit('x', { replacements })[0]).not.toMatch(/<|-->|\n\n/);
  });
});

describe('speakers', () => {
  const speakers = [{ find: 'speaker_0', replace: 'Al]ice' }];
  test.each([
    ['at the start', '[speaker_0] Hi', '[Alice] Hi', 1],
    ['not elsewhere', 'Hi [speaker_0]', 'Hi [speaker_0]', 0],
    ['not others', '[speaker_01] Hi', '[speaker_01] Hi', 0],
  ])('are renamed %s', (_, text, expected, count) => {
    expect(edit(text, { speakers })).toEqual([expected, count]);
  });
});

describe('censoring', () => {
  test.each([
    ['blank', 'Oh [____] it'],
    ['remove', 'Oh it'],
    ['mask', 'Oh ???? it'],
  ] as const)('%s', (mode, expected) => {
    expect(edit('Oh Damn it', { censored: ['damn'], mode })).toEqual([expected, 1]);
  });

  test('drops a cue of which nothing is left', () => {
    expect(edit('Damn', { censored: ['damn'], mode: 'remove' })).toEqual([undefined, 1]);
  });
});

test('text goes into cues and out again', () => {
  expect(plainText({ text: '<v A>1 &lt; 2\n&amp; <i>3</i>' })).toBe('1 < 2 & 3');
  expect(cueText('1 < 2\n\n a  b --> <i>')).toBe('1 &lt; 2\na b → &lt;i&gt;');
});

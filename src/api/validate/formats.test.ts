import { describe, expect, it } from 'vitest';
import { assetIdOfUrl, isWebUrl } from '../../domain/requests/inputs.js';
import { serializeInput } from '../responses/input-info.js';
import { formats } from './formats.js';

describe('urls', () => {
  it.each([
    ...['https://a.b/c.mp4', 'HTTP://a', 'http://[::1]:80/x', 'https://user:p@a.b/c?d=e#f', 'https://ü.example/ä'],
  ])('%s can be fetched', (text) => expect(isWebUrl(text)).toBe(true));

  it.each([
    '',
    'a',
    '//a/b',
    'http:/a',
    'http:a',
    'https://',
    'http://a b',
    ' http://a',
    'ftp://a/b',
    'http://a:99999',
    'http://a\\b',
    'https:///user:pass@a.b/c',
    'https://?a',
  ])('%j cannot', (text) => expect(isWebUrl(text)).toBe(false));

  it('of assets name their id', () => {
    expect(assetIdOfUrl('mux://assets/abc')).toBe('abc');
    expect(assetIdOfUrl('kinora://assets/abc')).toBe('abc');
    for (const other of ['mux://assets/', 'mux://assets/a/b', 'mux://assets/a?b', 'mux://live/a', 'http://assets/a']) {
      expect(assetIdOfUrl(other)).toBeUndefined();
    }
  });

  it.each([
    ['https://user:pass@a.b/c', 'https://a.b/c'],
    ['https://user@a.b', 'https://a.b'],
    ['https://a@b:c@d@a.b/c', 'https://a.b/c'],
    ['https://a.b/c@d', 'https://a.b/c@d'],
    ['https://a.b?c@d', 'https://a.b?c@d'],
    ['mux://assets/x', 'mux://assets/x'],
  ])('%s is shown as %s', (url, shown) => {
    expect(serializeInput({ settings: { url }, file: null, early_playback: null, copy_decision: null })).toEqual({
      settings: { url: shown },
    });
  });
});

it.each<[string, string, string | undefined]>([
  ['overlay-length', '-12.5%', undefined],
  ['overlay-length', '0px', undefined],
  ['overlay-length', '12', 'must be a percentage or pixel value'],
  ['overlay-length', '1e2px', 'must be a percentage or pixel value'],
  ['overlay-size', '0.1%', undefined],
  ['overlay-size', '-0px', 'must be greater than 0'],
  ['overlay-opacity', '0%', undefined],
  ['overlay-opacity', '100.0%', undefined],
  ['overlay-opacity', '100.1%', 'must be a percentage between 0% and 100%'],
])('%s %s: %s', (format, text, complaint) => expect(formats[format]!(text)).toBe(complaint));

import { expect, test } from 'vitest';
import { ownPoster, pageTokens, playlistQuery, withQuery } from './page-query.js';

test('the playlist gets its token and what it understands', () => {
  const url =
    '/id?max_resolution=720p&autoplay&t=5&thumbnail-token=b&playback-token=a&poster=%2Fx&tracking=0&drm-token=c';
  expect(pageTokens({ 'playback-token': 'a', 'drm-token': 'c' })).toMatchObject({ playback: 'a', license: 'c' });
  expect(pageTokens({ token: 'b', 'playback-token': 'a' }).playback).toBe('b');
  expect(playlistQuery(url, 'a&')).toBe('?max_resolution=720p&token=a%26');
  expect(playlistQuery('/id', undefined)).toBe('');
});

test('parameters without a value are left out', () => {
  expect(withQuery('/a', { b: undefined, c: '' })).toBe('/a');
  expect(withQuery('/a', { b: '1 2', c: undefined })).toBe('/a?b=1+2');
});

test.each([
  ['/id/thumbnail.jpg?time=3', '/id/thumbnail.jpg?time=3'],
  ['http://here.example:8080/a.png', '/a.png'],
  ['https://elsewhere.example/a.png', undefined],
  ['//elsewhere.example/a.png', undefined],
  ['http://here.example:8080//elsewhere.example/a.png', undefined],
  ['/.//elsewhere.example/a.png', undefined],
  ['\\\\elsewhere.example/a.png', undefined],
  ['http://here.example:8080/\\elsewhere.example/a.png', undefined],
  ['data:image/png;base64,AA', undefined],
  ['http://[', undefined],
  ['', undefined],
])('%j as a poster', (poster, own) => {
  expect(ownPoster(poster, 'http://here.example:8080')).toBe(own);
});

test('a request without a valid host has no poster', () => {
  expect(ownPoster('/a.png', '')).toBeUndefined();
});

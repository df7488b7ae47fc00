import { expect, it } from 'vitest';
import { readRtmpDestination } from './rtmp-destination.js';

it.each([
  ['rtmp://live.example.com/app', 'key', 'live.example.com', 1935, false, 'app', 'key'],
  ['rtmps://live.example.com:443/rtmp/', 'FB-1?s=2&a=b', 'live.example.com', 443, true, 'rtmp', 'FB-1?s=2&a=b'],
  ['RTMPS://Live.Example.com/app', 'key', 'live.example.com', 443, true, 'app', 'key'],
  ['rtmp://[::1]:1936/live/two', 'key', '[::1]', 1936, false, 'live/two', 'key'],
  ['rtmp://host/app?token=a/b', 'key', 'host', 1935, false, 'app?token=a/b', 'key'],
  ['rtmp://host/app/key?x=1', null, 'host', 1935, false, 'app', 'key?x=1'],
  // One form for all ways to write an address, so that the guard sees it.
  ['rtmp://0x7f.1/app', 'key', '127.0.0.1', 1935, false, 'app', 'key'],
])('reads %s', (url, streamKey, host, port, isSecure, app, key) => {
  expect(readRtmpDestination(url, streamKey)).toMatchObject({ host, port, isSecure, app, streamKey: key });
});

it('names the application without the key', () => {
  expect(readRtmpDestination('rtmp://host:1936/app/key', null)?.tcUrl).toBe('rtmp://host:1936/app');
  expect(readRtmpDestination('rtmps://host/app/', 'key')?.tcUrl).toBe('rtmps://host/app');
});

it.each([
  ['rtmp://host/app', null],
  ['rtmp://host/app/', null],
  ['rtmp://host/app', ''],
  ['rtmp://user:password@host/app', 'key'],
  ['rtmp://host:99999/app', 'key'],
  ['srt://host:9000?streamid=x', null],
  [`rtmp://host/${'a'.repeat(5000)}`, 'key'],
  ['rtmp://host/app', 'k'.repeat(5000)],
])('refuses %s', (url, streamKey) => {
  expect(readRtmpDestination(url, streamKey)).toBeUndefined();
});

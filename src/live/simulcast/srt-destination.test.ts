import { expect, it } from 'vitest';
import { readSrtDestination } from './srt-destination.js';

it.each([
  [
    'srt://live.example.com:6001?streamid=key&passphrase=0123456789',
    { host: 'live.example.com', port: 6001, call: { streamId: 'key', passphrase: '0123456789' } },
  ],
  [
    'SRT://[::1]:9/?streamid=#!::r=a%20b,m=publish&pbkeylen=32&latency=500&mode=caller',
    { host: '[::1]', port: 9, call: { streamId: '#!::r=a b,m=publish', keyBytes: 32, latencyMs: 500 } },
  ],
  ['srt://host:9000', { call: { streamId: 'own', passphrase: undefined, keyBytes: 16, latencyMs: 0 } }],
  ['srt://host:9000?latency=99999', { call: { latencyMs: 8000 } }],
])('reads %s', (url, expected) => expect(readSrtDestination(url, 'own')).toMatchObject(expected));

it.each([
  'srt://host',
  'srt://host:0',
  'srt://host:70000',
  'srt://user@host:9000',
  'srt://host:9000/path',
  'srt://host:9000?mode=listener',
  'srt://host:9000?transtype=file',
  'srt://host:9000?passphrase=short',
  'srt://host:9000?pbkeylen=8',
  'srt://host:9000?latency=-1',
  'srt://host:9000?streamid=%ff',
  `srt://host:9000?streamid=${'k'.repeat(513)}`,
  'rtmp://host:9000/app',
])('does not call %s', (url) => expect(readSrtDestination(url, null)).toBeUndefined());

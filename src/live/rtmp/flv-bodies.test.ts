import { expect, it } from 'vitest';
import { readAmf0 } from './amf0.js';
import { defaultMetadata, FlvBodies } from './flv-bodies.js';
import { readAudioTag, readVideoTag } from './flv-tags.js';

const record = Buffer.from('0164001f', 'hex');
const data = Buffer.from('0000000165', 'hex');

it.each([
  ['avc', 40],
  ['avc', -7],
  ['hevc', 0],
  ['hevc', 40],
  ['hevc', -7],
  ['av1', 0],
] as const)('writes what is read again as %s with a composition time of %i ms', (codec, compositionMs) => {
  const bodies = new FlvBodies();
  const config = bodies.of({ kind: 'video-config', config: { codec, record } });
  expect(readVideoTag(Buffer.from(config))).toEqual({ kind: 'config', codec, record });
  for (const isKey of [true, false]) {
    const body = bodies.of({ kind: 'video', dtsMs: 1, compositionMs, isKey, data });
    expect(readVideoTag(Buffer.from(body))).toEqual({ kind: 'frame', codec, isKey, compositionMs, data });
  }
});

it('writes AAC', () => {
  const bodies = new FlvBodies();
  const config = bodies.of({ kind: 'audio-config', config: { codec: 'aac', record } });
  expect(readAudioTag(Buffer.from(config))).toEqual({ kind: 'config', record });
  const frame = bodies.of({ kind: 'audio', dtsMs: 1, data });
  expect(readAudioTag(Buffer.from(frame))).toEqual({ kind: 'frame', data });
});

it('writes composition times of the wrong range as the nearest', () => {
  const body = new FlvBodies().of({ kind: 'video', dtsMs: 0, compositionMs: 1e9, isKey: true, data });
  expect(readVideoTag(Buffer.from(body))).toMatchObject({ compositionMs: 0x7f_ffff });
});

it('writes metadata', () => {
  const [command, name, values] = readAmf0(Buffer.from(defaultMetadata({ hasVideo: true, hasAudio: false })));
  expect([command, name]).toEqual(['@setDataFrame', 'onMetaData']);
  expect(values).toEqual(
    new Map<string, unknown>([
      ['videocodecid', 7],
      ['encoder', 'Kinora'],
    ]),
  );
  expect(readAmf0(Buffer.from(new FlvBodies().of({ kind: 'metadata', frameRate: 25 }))).at(-1)).toEqual(
    new Map<string, unknown>([
      ['framerate', 25],
      ['encoder', 'Kinora'],
    ]),
  );
});

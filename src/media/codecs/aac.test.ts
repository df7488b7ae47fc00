import { expect, test } from 'vitest';
import { audioSpecificConfig, silentAacFrame } from './aac.js';

// ISO/IEC 14496-3, 1.6.2.1: 5 bits object type, 4 bits frequency index, 4 bits channels, 3 zero
// bits.
test.each([
  [48_000, 2, '1190'],
  [48_000, 1, '1188'],
  [44_100, 2, '1210'],
  [44_100, 1, '1208'],
])('AAC-LC %i Hz, %i channels is %s', (sampleRate, channels, hex) => {
  expect(Buffer.from(audioSpecificConfig(sampleRate, channels)).toString('hex')).toBe(hex);
});

test('a rate without index is refused', () => {
  expect(() => audioSpecificConfig(47_999, 2)).toThrow('no such AAC-LC configuration');
});

// ISO/IEC 14496-3, 4.4.2.1, by hand.
test.each([
  [1, '00000007'],
  [2, '21000000001c'],
])('silence of %i channels', (channels, hex) => {
  const frame = silentAacFrame({ objectType: 2, sampleRate: 48_000, channels, codecs: 'mp4a.40.2' });
  expect(Buffer.from(frame!).toString('hex')).toBe(hex);
});

test('there is no silence for object types with another syntax', () => {
  expect(silentAacFrame({ objectType: 39, sampleRate: 48_000, channels: 2, codecs: 'mp4a.40.39' })).toBeUndefined();
});

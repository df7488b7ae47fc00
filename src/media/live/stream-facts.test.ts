import { describe, expect, test } from 'vitest';
import { readVideoInit } from '../mp4/read-cmaf.js';
import { liveVideoInit, readLiveAudio, readLiveVideo } from './stream-facts.js';

/** Header, VPS, SPS and PPS of x265. */
const HVCC =
  '0101600000009000000000005af000fcfdf8f800000f03a00001001840010c01ffff01600000030090000003000003005a959009' +
  'a10001002e42010101600000030090000003000003005aa006c201e1cde595912930bc05a808080820000003002000000303c1' +
  'a2000100064401c073c089';
const AV1C = '81040c000a0e00000024c6abdf00be0404040410';
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');

describe('what a decoder configuration of live video says', () => {
  test('of HEVC', () => {
    expect(readLiveVideo('hevc', bytes(HVCC))).toMatchObject({
      codec: 'hevc',
      codecs: 'hvc1.1.6.L90.90',
      width: 854,
      height: 480,
      frameRate: { num: 30, den: 1 },
      obstacle: 'the codec is HEVC',
    });
  });

  test('of AV1', () => {
    const facts = readLiveVideo('av1', bytes(AV1C));
    expect(facts).toMatchObject({ codecs: 'av01.0.04M.08', width: 854, height: 480, obstacle: 'the codec is AV1' });
    expect(facts).not.toHaveProperty('frameRate');
  });

  test.each(['hevc', 'av1'] as const)('goes into the init segment: %s', (codec) => {
    const record = bytes(codec === 'hevc' ? HVCC : AV1C);
    const init = readVideoInit(liveVideoInit(readLiveVideo(codec, record)!, 3000));
    expect(init).toMatchObject({ codec, timescale: 90_000, reorderTicks: 3000 });
    expect(Buffer.from(init.record)).toEqual(record);
  });

  test.each(['avc', 'hevc', 'av1'] as const)('is unknown when it is damaged: %s', (codec) => {
    const record = bytes(codec === 'hevc' ? HVCC : AV1C);
    for (let length = 0; length < 13; length += 1)
      expect(readLiveVideo(codec, record.subarray(0, length))).toBeUndefined();
    for (let bit = 0; bit < record.length * 8; bit += 1) {
      const damaged = Buffer.from(record);
      damaged[bit >> 3]! ^= 0x80 >> (bit & 7);
      expect(() => readLiveVideo(codec, damaged)).not.toThrow();
    }
  });

  test('of HEVC with other lengths is unknown, as parts of samples are found by them', () => {
    const record = bytes(HVCC);
    record[21] = record[21]! & ~3;
    expect(readLiveVideo('hevc', record)).toBeUndefined();
  });
});

test.each([
  ['1190', 'mp4a.40.2', 48_000, 2],
  ['1208', 'mp4a.40.2', 44_100, 1],
  ['2b920800', 'mp4a.40.5', 22_050, 2],
])('audio of %s', (record, codecs, sampleRate, channels) => {
  expect(readLiveAudio(bytes(record))).toMatchObject({ codecs, sampleRate, channels });
});

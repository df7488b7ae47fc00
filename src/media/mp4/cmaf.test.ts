import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AVCC } from '../../../test/support/media/media-values.js';
import { audioSpecificConfig } from '../codecs/aac.js';
import { writeAudioInit, writeFragment, writeVideoInit } from './cmaf.js';
import { verifyFragment, verifyInit } from './fragment-verifier.js';

describe('writeFragment', () => {
  test('has this form', () => {
    const fragment = writeFragment({
      sequence: 7,
      baseDecodeTicks: 0x1_0000_0002,
      samples: [
        { durationTicks: 512, compositionOffsetTicks: 0, sizeBytes: 3, sync: true },
        { durationTicks: 513, compositionOffsetTicks: -2, sizeBytes: 1, sync: false },
      ],
      data: [Uint8Array.of(1, 2, 3), Uint8Array.of(4)],
    });
    const expected = [
      '0000001c' + '73747970' + '6d736468' + '00000000' + '6d736468' + '69736f36' + '636d6673', // styp msdh
      '00000078' + '6d6f6f66', // moof, 120 bytes
      '00000010' + '6d666864' + '00000000' + '00000007', // mfhd
      '00000060' + '74726166', // traf, 96 bytes
      '00000010' + '74666864' + '00020000' + '00000001', // tfhd
      '00000014' + '74666474' + '01000000' + '0000000100000002', // tfdt
      '00000034' + '7472756e' + '01000f01' + '00000002' + '00000080', // trun, data at 120 + 8
      '00000200' + '00000003' + '02000000' + '00000000',
      '00000201' + '00000001' + '01010000' + 'fffffffe',
      '0000000c' + '6d646174' + '01020304', // mdat
    ];
    const hex = Buffer.from(fragment).toString('hex');
    expect(hex).toBe(expected.join(''));
  });
  test('refuses sizes that do not add up and times before zero', () => {
    const samples = [{ durationTicks: 1, compositionOffsetTicks: 0, sizeBytes: 2, sync: true }];
    expect(() => writeFragment({ sequence: 1, baseDecodeTicks: 0, samples, data: [Uint8Array.of(1)] })).toThrow(
      'add up',
    );
    expect(() => writeFragment({ sequence: 1, baseDecodeTicks: -1, samples, data: [Uint8Array.of(1, 2)] })).toThrow(
      'out of range',
    );
  });
  test('passes the verifier, which shares nothing with it', () => {
    const sample = fc.record({
      durationTicks: fc.integer({ min: 1, max: 1e6 }),
      sizeBytes: fc.integer({ min: 1, max: 50 }),
    });
    fc.assert(
      fc.property(fc.array(sample, { minLength: 1 }), fc.maxSafeInteger(), (rows, base) => {
        const baseDecodeTicks = Math.abs(Math.trunc(base / 4));
        const samples = rows.map((row, index) => ({ ...row, compositionOffsetTicks: 0, sync: index === 0 }));
        const data = rows.map(({ sizeBytes }) => new Uint8Array(sizeBytes));
        const durationTicks = rows.reduce((sum, row) => sum + row.durationTicks, 0);
        const expected = { baseDecodeTicks, durationTicks, sampleCount: rows.length, firstSync: true };
        expect(verifyFragment(writeFragment({ sequence: 1, baseDecodeTicks, samples, data }), expected)).toBe(
          rows.length,
        );
      }),
    );
  });
});

describe('init segments', () => {
  const video = writeVideoInit({
    timescale: 15_360,
    width: 1280,
    height: 720,
    avcc: Buffer.from(AVCC, 'base64'),
    color: 'bt709',
  });
  const audio = writeAudioInit({
    sampleRate: 48_000,
    channels: 2,
    audioSpecificConfig: audioSpecificConfig(48_000, 2),
  });
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

  test('pass the verifier', () => {
    verifyInit(video, { timescale: 15_360, codecs: 'avc1.64001f', width: 1280, height: 720 });
    verifyInit(audio, { timescale: 48_000, codecs: 'mp4a.40.2' });
  });
  test('take back by an edit list what composition offsets are raised by', () => {
    const init = { timescale: 15_360, width: 2, height: 2, avcc: Buffer.from(AVCC, 'base64') };
    const expected = { timescale: 15_360, codecs: 'avc1.64001f', width: 2, height: 2 };
    const shifted = writeVideoInit({ ...init, reorderTicks: 512 });
    verifyInit(shifted, { ...expected, reorderTicks: 512 });
    expect(hex(shifted)).toContain('0000001c656c7374' + '00000000' + '00000001' + '00000000' + '00000200' + '00010000');
    expect(() => verifyInit(shifted, expected)).toThrow();
    expect(() => verifyInit(shifted, { ...expected, reorderTicks: 513 })).toThrow();
    expect(() => verifyInit(writeVideoInit(init), { ...expected, reorderTicks: 512 })).toThrow();
  });
  test('carry avcC, BT.709 and square pixels', () => {
    expect(hex(video)).toContain(`${'00000019'}61766343${hex(Buffer.from(AVCC, 'base64'))}`);
    expect(hex(video)).toContain('00000013' + '636f6c72' + '6e636c78' + '000100010001' + '00');
    expect(hex(video)).toContain('00000010' + '70617370' + '00000001' + '00000001');
    const untagged = writeVideoInit({ timescale: 1, width: 2, height: 2, avcc: Buffer.from(AVCC, 'base64') });
    expect(hex(untagged)).not.toContain('636f6c72');
  });
  test('carry the elementary stream descriptor', () => {
    // ES 1; AAC, audio stream; AudioSpecificConfig 1190; SL 2
    expect(hex(audio)).toContain(
      '65736473' +
        '00000000' +
        '0319' +
        '000100' +
        '0411' +
        '4015' +
        '000000' +
        '00000000' +
        '00000000' +
        '05021190' +
        '060102',
    );
  });
});

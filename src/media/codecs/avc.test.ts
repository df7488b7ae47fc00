import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { annexBToLengthPrefixed, avcCodecs, avccFromAnnexB, buildAvcc, readAvcc, splitAnnexB } from './avc.js';

const bytes = (hex: string): Uint8Array => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const hex = (value: Uint8Array): string => Buffer.from(value).toString('hex');

describe('annexBToLengthPrefixed', () => {
  test('takes start codes of three and four bytes and drops delimiters', () => {
    const unit = bytes('00000001 09f0 00000001 6764 000001 68ee 000001 65 88 84');
    expect(hex(annexBToLengthPrefixed(unit))).toBe('00000002676400000002' + '68ee' + '00000003658884');
  });
  test('keeps emulation prevention bytes and drops trailing zeros', () => {
    expect(splitAnnexB(bytes('000001 65 000003 01 0000 000001 41 9a 00')).map(hex)).toEqual(['6500000301', '419a']);
  });
  test('bytes without a start code hold no unit', () => {
    expect(annexBToLengthPrefixed(bytes('112233'))).toHaveLength(0);
  });
  test('gives back what was put between start codes', () => {
    const unit = fc
      .uint8Array({ minLength: 1, maxLength: 20 })
      .map((value) => value.map((byte) => (byte % 8 === 1 ? 2 : byte) || 3));
    fc.assert(
      fc.property(fc.array(unit), fc.boolean(), (units, long) => {
        const stream = Buffer.concat(units.flatMap((value) => [bytes(long ? '00000001' : '000001'), value]));
        expect(splitAnnexB(stream).map(hex)).toEqual(units.map(hex));
      }),
    );
  });
});

describe('avcC', () => {
  const sps = bytes('6764001f acd9');
  const pps = bytes('68ebe3');
  test('of High profile carries the chroma fields', () => {
    expect(hex(buildAvcc([sps], [pps]))).toBe('0164001fffe10006' + '6764001facd9' + '010003' + '68ebe3' + 'fdf8f800');
  });
  test('of Baseline does not', () => {
    expect(hex(buildAvcc([bytes('6742c01e')], [pps]))).toBe('0142c01effe10004' + '6742c01e' + '010003' + '68ebe3');
  });
  test('comes from Annex B extradata with both parameter sets', () => {
    const extradata = bytes('00000001 6764001facd9 00000001 68ebe3');
    expect(avccFromAnnexB(extradata)).toEqual(buildAvcc([sps], [pps]));
    expect(avccFromAnnexB(bytes('00000001 6764001facd9'))).toBeUndefined();
  });
  test('is read back', () => {
    const summary = { profile: 100, constraints: 0, level: 31, lengthBytes: 4, spsCount: 1, ppsCount: 1 };
    expect(readAvcc(buildAvcc([sps], [pps]))).toEqual(summary);
    expect(readAvcc(bytes('0164001fffe1ffff676400'))).toBeUndefined();
    expect(readAvcc(bytes('0064001fffe100'))).toBeUndefined();
  });
  test('names itself by RFC 6381', () => {
    expect(avcCodecs(100, 0, 31)).toBe('avc1.64001f');
    expect(avcCodecs(66, 0xc0, 30)).toBe('avc1.42c01e');
  });
});

import { describe, expect, it } from 'vitest';
import type { IngestPacket } from '../ingest.js';
import { writeAmf0 } from './amf0.js';
import { MediaReader } from './media-reader.js';

const AUDIO = 8;
const VIDEO = 9;
const DATA = 18;

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const fourCc = (text: string): string => Buffer.from(text).toString('hex');

type Sent = readonly [typeId: number, timestamp: number, payload: string | Buffer];

const read = (...sent: readonly Sent[]): { packets: IngestPacket[]; problems: (string | undefined)[] } => {
  const packets: IngestPacket[] = [];
  const reader = new MediaReader((packet) => packets.push(packet));
  const problems = sent.map(([typeId, timestamp, payload]) =>
    reader.read(typeId, timestamp, typeof payload === 'string' ? hex(payload) : payload),
  );
  return { packets, problems: problems.filter((problem) => problem !== undefined) };
};

const avcConfig: Sent = [VIDEO, 0, '17 00 000000 01640028'];
const avcRecord = { kind: 'video-config', config: { codec: 'avc', record: hex('01640028') } };
const aacConfig: Sent = [AUDIO, 0, 'af 00 1190'];

describe('video', () => {
  it('is AVC with signed composition times', () => {
    const { packets } = read(
      avcConfig,
      [VIDEO, 40, '17 01 000050 aabb'],
      [VIDEO, 80, '27 01 ffffd8 cc'],
      // The end of the sequence, a command to the player, a tag without a frame, an empty one.
      [VIDEO, 80, '17 02 000000'],
      [VIDEO, 80, '57 00'],
      [VIDEO, 80, '27 01 000000'],
      [VIDEO, 80, ''],
    );
    expect(packets).toEqual([
      avcRecord,
      { kind: 'video', dtsMs: 40, compositionMs: 80, isKey: true, data: hex('aabb') },
      { kind: 'video', dtsMs: 80, compositionMs: -40, isKey: false, data: hex('cc') },
    ]);
  });

  it.each([
    ['hvc1', 'hevc'],
    ['avc1', 'avc'],
  ])('is %s of Enhanced RTMP', (name, codec) => {
    const { packets } = read(
      [VIDEO, 0, `90 ${fourCc(name)} 0102`],
      [VIDEO, 40, `91 ${fourCc(name)} ffffff aa`],
      [VIDEO, 80, `a3 ${fourCc(name)} bb`],
      // The end of the sequence, colors, a command.
      [VIDEO, 80, `92 ${fourCc(name)}`],
      [VIDEO, 80, `94 ${fourCc(name)} 0200`],
      [VIDEO, 80, 'd1 00'],
    );
    expect(packets).toEqual([
      { kind: 'video-config', config: { codec, record: hex('0102') } },
      { kind: 'video', dtsMs: 40, compositionMs: -1, isKey: true, data: hex('aa') },
      { kind: 'video', dtsMs: 80, compositionMs: 0, isKey: false, data: hex('bb') },
    ]);
  });

  it('is AV1, which has no composition times', () => {
    const { packets } = read([VIDEO, 0, `90 ${fourCc('av01')} 81`], [VIDEO, 40, `91 ${fourCc('av01')} 0102`]);
    expect(packets[1]).toEqual({ kind: 'video', dtsMs: 40, compositionMs: 0, isKey: true, data: hex('0102') });
  });

  it.each([
    ['one track', `96 00 ${fourCc('hvc1')} 00 0102`, `96 01 ${fourCc('hvc1')} 00 000000 aa`],
    [
      'tracks of one codec',
      `96 10 ${fourCc('hvc1')} 01 000001 ff 00 000002 0102`,
      `96 11 ${fourCc('hvc1')} 01 000001 ff 00 000004 000000aa`,
    ],
    [
      'tracks of several codecs',
      `96 20 ${fourCc('vp09')} 01 000001 ff ${fourCc('hvc1')} 00 000002 0102`,
      `96 21 ${fourCc('vp09')} 01 000001 ff ${fourCc('hvc1')} 00 000004 000000aa`,
    ],
    ['with a modifier', `97 02 000000 00 ${fourCc('hvc1')} 0102`, `97 02 000000 01 ${fourCc('hvc1')} 000000 aa`],
    ['with a long modifier', `97 ff 0001 0000 00 ${fourCc('hvc1')} 0102`, `97 00 00 03 ${fourCc('hvc1')} aa`],
  ])('is track 0 of: %s', (_, config, frame) => {
    const { packets } = read([VIDEO, 0, config], [VIDEO, 40, frame]);
    expect(packets).toEqual([
      { kind: 'video-config', config: { codec: 'hevc', record: hex('0102') } },
      { kind: 'video', dtsMs: 40, compositionMs: 0, isKey: true, data: hex('aa') },
    ]);
  });

  it('of other tracks is ignored, and what is cut off as well', () => {
    const whole = hex(`96 21 ${fourCc('vp09')} 01 000001 ff ${fourCc('hvc1')} 00 000004 000000aa`);
    const cut = Array.from({ length: whole.length }, (_, size): Sent => [VIDEO, 40, whole.subarray(0, size)]);
    const { packets, problems } = read(
      [VIDEO, 0, `90 ${fourCc('hvc1')} 0102`],
      [VIDEO, 40, `96 01 ${fourCc('hvc1')} 01 000000 aa`],
      [VIDEO, 40, '97 ff 00'],
      ...cut,
    );
    expect(packets).toHaveLength(1);
    expect(problems).toEqual([]);
  });

  it('before its configuration, or of another codec, is dropped', () => {
    const frame: Sent = [VIDEO, 40, '17 01 000000 aa'];
    expect(read(frame, [VIDEO, 0, `90 ${fourCc('hvc1')} 0102`], frame).packets).toHaveLength(1);
  });

  it.each([
    ['22 00', 'Sorenson H.263'],
    ['14 00', 'VP6'],
    ['1c 01 000000 aa', 'HEVC without Enhanced RTMP'],
    [`90 ${fourCc('vp09')} 00`, 'VP9'],
    ['1f 00', 'an unknown codec'],
  ])('%s can not be recorded', (payload, name) => {
    const { problems } = read([VIDEO, 0, payload]);
    expect(problems).toEqual([
      `The video codec is ${name}. Set the video encoder to H.264 (or to HEVC or AV1 with Enhanced RTMP).`,
    ]);
  });
});

describe('audio', () => {
  it('is AAC, in both forms', () => {
    const { packets } = read(
      aacConfig,
      [AUDIO, 23, 'af 01 aabb'],
      [AUDIO, 23, 'af 01'],
      [AUDIO, 46, `91 ${fourCc('mp4a')} cc`],
      [AUDIO, 46, `92 ${fourCc('mp4a')}`],
      [AUDIO, 69, `95 01 ${fourCc('mp4a')} 00 dd`],
      [AUDIO, 69, `95 01 ${fourCc('mp4a')} 01 ee`],
    );
    expect(packets).toEqual([
      { kind: 'audio-config', config: { codec: 'aac', record: hex('1190') } },
      { kind: 'audio', dtsMs: 23, data: hex('aabb') },
      { kind: 'audio', dtsMs: 46, data: hex('cc') },
      { kind: 'audio', dtsMs: 69, data: hex('dd') },
    ]);
  });

  it('before its configuration is dropped', () => {
    expect(read([AUDIO, 23, 'af 01 aabb']).packets).toEqual([]);
  });

  it.each([
    ['2f aabb', 'MP3'],
    ['b2 aabb', 'Speex'],
    [`90 ${fourCc('Opus')} 00`, 'Opus'],
    [`91 ${fourCc('fLaC')} 00`, 'FLAC'],
  ])('%s can not be recorded', (payload, name) => {
    expect(read([AUDIO, 0, payload]).problems).toEqual([`The audio codec is ${name}. Set the audio encoder to AAC.`]);
  });

  it.each([
    ['AAC-LC', 'af00 1190', []],
    ['HE-AAC', 'af00 2b920800', []],
    ['AAC Main', 'af00 0990', ['The audio is AAC of kind 1. Set the audio encoder to AAC-LC.']],
    ['AAC-ELD', 'af00 f8e62000', ['The audio is AAC of kind 39. Set the audio encoder to AAC-LC.']],
  ])('%s is recorded if players decode it', (_name, payload, problems) => {
    expect(read([AUDIO, 0, payload]).problems).toEqual(problems);
  });
});

it('passes on a configuration when it changes', () => {
  const { packets } = read(
    avcConfig,
    aacConfig,
    avcConfig,
    aacConfig,
    [VIDEO, 0, '17 00 000000 01640029'],
    [AUDIO, 0, 'af 00 1210'],
  );
  expect(packets.map(({ kind }) => kind)).toEqual(['video-config', 'audio-config', 'video-config', 'audio-config']);
});

it('continues times past 32 bits, for audio and video together', () => {
  const { packets } = read(
    avcConfig,
    aacConfig,
    [VIDEO, 0xffff_fff0, '17 01 000000 aa'],
    [AUDIO, 5, 'af 01 aa'],
    [VIDEO, 0xffff_fffa, '17 01 000000 aa'],
    [VIDEO, 30, '17 01 000000 aa'],
    // The clock of the encoder begins again.
    [VIDEO, 0x9000_0000, '17 01 000000 aa'],
    [AUDIO, 0, 'af 01 aa'],
  );
  const times = packets.flatMap((packet) => ('dtsMs' in packet ? [packet.dtsMs] : []));
  expect(times.slice(0, 4)).toEqual([0xffff_fff0, 2 ** 32 + 5, 0xffff_fffa, 2 ** 32 + 30]);
  expect(times.slice(4).every((time) => time >= 0)).toBe(true);
});

it('does not take a first large time for one before 0', () => {
  const { packets } = read(avcConfig, [VIDEO, 10, '17 01 000000 aa'], [VIDEO, 3_000_000_000, '17 01 000000 aa']);
  expect(packets.at(-1)).toMatchObject({ dtsMs: 3_000_000_000 });
});

describe('metadata', () => {
  const metadata = (properties: Record<string, number | string>) => new Map(Object.entries(properties));

  it.each([
    ['as encoders send it', writeAmf0('@setDataFrame', 'onMetaData', metadata({ framerate: 29.97 })), 29.97],
    ['without a name in front', writeAmf0('onMetaData', metadata({ framerate: '25' })), 25],
    ['without a frame rate', writeAmf0('onMetaData', metadata({})), undefined],
    ['with an impossible one', writeAmf0('onMetaData', metadata({ framerate: Number.NaN })), undefined],
  ])('is read: %s', (_, payload, frameRate) => {
    expect(read([DATA, 0, payload]).packets).toEqual([{ kind: 'metadata', frameRate }]);
    expect(read([15, 0, Buffer.concat([Buffer.of(0), payload])]).packets).toEqual([{ kind: 'metadata', frameRate }]);
  });

  it('is optional', () => {
    expect(
      read([DATA, 0, 'ff'], [DATA, 0, ''], [DATA, 0, writeAmf0('onCuePoint', 1)], [15, 0, '0011']).packets,
    ).toEqual([]);
  });
});

it('takes aggregates apart', () => {
  const tag = (type: string, time: string, body: string) => {
    const size = (body.replaceAll(' ', '').length / 2).toString(16).padStart(6, '0');
    return `${type} ${size} ${time} 000000 ${body} 00000000`;
  };
  const aggregate = [
    tag('09', '000064 00', '17 00 000000 01640028'),
    tag('08', '000064 00', 'af 00 1190'),
    tag('09', '000064 00', '17 01 000000 aa'),
    tag('08', '00007b 00', 'af 01 bb'),
    // An aggregate in an aggregate, and a tag that is cut off.
    tag('16', '000080 00', '00'),
    '09 000100 000090 00 000000 17',
  ].join('');
  const { packets } = read([22, 5000, aggregate]);
  expect(packets.slice(2)).toEqual([
    { kind: 'video', dtsMs: 5000, compositionMs: 0, isKey: true, data: hex('aa') },
    { kind: 'audio', dtsMs: 5023, data: hex('bb') },
  ]);
});

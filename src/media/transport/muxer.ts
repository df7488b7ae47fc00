import { writeAdtsHeader } from '../codecs/adts.js';
import { listAvccPps, listAvccSequences, readAvcc } from '../codecs/avc.js';
import { listHvccSets, readHvcc } from '../codecs/hevc.js';
import { concat } from '../mp4/box-writer.js';
import { PACKET_BYTES } from './packet-reader.js';
import { writeAssociation, writeProgramMap } from './sections.js';
import type { VideoCodec } from './stream-types.js';

/** Ticks of 90 kHz, of any size; 33 bits are written. */
interface Times {
  readonly dts: number;
  readonly pts: number;
}

interface VideoTrack {
  readonly codec: VideoCodec;
  readonly sets: readonly Uint8Array[];
  /** Bytes of the sizes of NAL units. */
  readonly lengthBytes: number;
}

const PIDS = { association: 0, map: 0x1000, video: 0x100, audio: 0x101 } as const;
const TYPES = { avc: 0x1b, hevc: 0x24, aac: 0x0f } as const;
const [VIDEO_ID, AUDIO_ID] = [0xe0, 0xc0];
/** Decoders get every frame so long before its time, in ticks. */
const DELAY_TICKS = 63_000;
/** How often the program is said, in ticks. */
const PROGRAM_TICKS = 45_000;
const START_CODE = Uint8Array.of(0, 0, 0, 1);
const DELIMITERS = { avc: Uint8Array.of(0, 0, 0, 1, 9, 0xf0), hevc: Uint8Array.of(0, 0, 0, 1, 0x46, 1, 0x50) };
const HEADER_BYTES = 4;
const MAX_PES_BYTES = 0xffff;

/** Writes a transport stream with one program: H.264 or HEVC, and AAC (ISO/IEC 13818-1). */
export class Muxer {
  #video: VideoTrack | undefined;
  #audioRecord: Uint8Array | undefined;
  #version = 0;
  #programTicks: number | undefined;
  readonly #counters = new Map<number, number>();

  /**
   * Frames that follow have this configuration.
   * @param record avcC or hvcC
   * @returns false when it is damaged
   */
  setVideo(codec: VideoCodec, record: Uint8Array): boolean {
    const summary = codec === 'avc' ? readAvcc(record) : readHvcc(record);
    const sets = codec === 'avc' ? [...listAvccSequences(record), ...listAvccPps(record)] : listHvccSets(record);
    if (!summary || !sets) return false;
    if (this.#video?.codec !== codec) this.#change();
    this.#video = { codec, sets, lengthBytes: summary.lengthBytes };
    return true;
  }

  /** @param record AudioSpecificConfig @returns false when ADTS has no form for it */
  setAudio(record: Uint8Array): boolean {
    if (!writeAdtsHeader(record, 1)) return false;
    if (!this.#audioRecord) this.#change();
    this.#audioRecord = record;
    return true;
  }

  /** @param sample length-prefixed NAL units */
  video(sample: Uint8Array, isKey: boolean, times: Times): Uint8Array {
    const video = this.#video;
    if (!video) return new Uint8Array(0);
    const units = splitUnits(sample, video.lengthBytes);
    const sets = isKey ? video.sets : [];
    const data = [DELIMITERS[video.codec], ...[...sets, ...units].flatMap((unit) => [START_CODE, unit])];
    const packets = this.#packets(PIDS.video, pes(VIDEO_ID, concat(data), times), { clock: times.dts, isKey });
    return concat([...this.#program(times.dts, isKey), ...packets]);
  }

  /** @param frame without a header */
  audio(frame: Uint8Array, ticks: number): Uint8Array {
    const header = this.#audioRecord && writeAdtsHeader(this.#audioRecord, frame.length);
    if (!header) return new Uint8Array(0);
    const packet = pes(AUDIO_ID, concat([header, frame]), { dts: ticks, pts: ticks });
    const clock = this.#video ? undefined : { clock: ticks, isKey: true };
    return concat([...this.#program(ticks, false), ...this.#packets(PIDS.audio, packet, clock)]);
  }

  #change(): void {
    this.#version += 1;
    this.#programTicks = undefined;
  }

  /** The program, when it is time to say it. */
  #program(ticks: number, isKey: boolean): Uint8Array[] {
    const isDue = this.#programTicks === undefined || Math.abs(ticks - this.#programTicks) >= PROGRAM_TICKS;
    if (!isDue && !isKey) return [];
    this.#programTicks = ticks;
    const video = this.#video && { pid: PIDS.video, type: TYPES[this.#video.codec] };
    const audio = this.#audioRecord && { pid: PIDS.audio, type: TYPES.aac };
    const streams = [video, audio].flatMap((stream) => stream ?? []);
    const map = writeProgramMap(streams, video ? PIDS.video : PIDS.audio, this.#version);
    const pointer = Uint8Array.of(0);
    return [
      ...this.#packets(PIDS.association, concat([pointer, writeAssociation(PIDS.map)])),
      ...this.#packets(PIDS.map, concat([pointer, map])),
    ];
  }

  /** `clock`: ticks of the program clock, which the first packet says. */
  #packets(pid: number, unit: Uint8Array, clock?: { readonly clock: number; readonly isKey: boolean }): Uint8Array[] {
    const packets: Uint8Array[] = [];
    // Sections end with stuffing of their own, frames with that of the adaptation field.
    const isSection = pid === PIDS.association || pid === PIDS.map;
    for (let at = 0; at < unit.length; ) {
      const isFirst = at === 0;
      const adaptation = isFirst && clock ? clockField(clock.clock, clock.isKey) : undefined;
      const room = PACKET_BYTES - HEADER_BYTES - (adaptation?.length ?? 0);
      const size = Math.min(room, unit.length - at);
      const packet = new Uint8Array(PACKET_BYTES).fill(0xff);
      const stuffing = isSection ? 0 : room - size;
      const field = stuffing > 0 ? stuffed(adaptation, stuffing) : (adaptation ?? new Uint8Array(0));
      const counter = this.#counters.get(pid) ?? 0;
      this.#counters.set(pid, (counter + 1) & 0xf);
      packet.set([
        ...[0x47, (isFirst ? 0x40 : 0) | (pid >> 8), pid & 0xff],
        (field.length > 0 ? 0x30 : 0x10) | counter,
      ]);
      packet.set(field, HEADER_BYTES);
      packet.set(unit.subarray(at, at + size), HEADER_BYTES + field.length);
      packets.push(packet);
      at += size;
    }
    return packets;
  }
}

/** An adaptation field, `count` bytes longer. */
const stuffed = (field: Uint8Array | undefined, count: number): Uint8Array => {
  // Its length alone, which is 0, is the field of one byte.
  if (!field)
    return concat([Uint8Array.from(count === 1 ? [0] : [count - 1, 0]), STUFFING.subarray(0, Math.max(0, count - 2))]);
  const longer = concat([field, STUFFING.subarray(0, count)]);
  longer[0] = field[0]! + count;
  return longer;
};

const STUFFING = new Uint8Array(PACKET_BYTES).fill(0xff);

/** An adaptation field with the program clock. */
const clockField = (ticks: number, isKey: boolean): Uint8Array => {
  const base = modulo(ticks);
  const high = Math.floor(base / 2);
  return Uint8Array.of(
    7,
    isKey ? 0x50 : 0x10,
    ...[high >>> 24, (high >>> 16) & 0xff, (high >>> 8) & 0xff, high & 0xff],
    ((base % 2) << 7) | 0x7e,
    0,
  );
};

/** A PES packet; its size is not said when it is too large. */
const pes = (id: number, data: Uint8Array, { dts, pts }: Times): Uint8Array => {
  const hasDts = dts !== pts;
  const times = [...timestamp(hasDts ? 3 : 2, pts), ...(hasDts ? timestamp(1, dts) : [])];
  const size = 3 + times.length + data.length;
  const said = size > MAX_PES_BYTES || id === VIDEO_ID ? 0 : size;
  const header = [0, 0, 1, id, said >> 8, said & 0xff, 0x80, hasDts ? 0xc0 : 0x80, times.length, ...times];
  return concat([Uint8Array.from(header), data]);
};

const timestamp = (prefix: number, ticks: number): number[] => {
  const value = modulo(ticks + DELAY_TICKS);
  const [high, middle, low] = [Math.floor(value / 2 ** 30), Math.floor(value / 2 ** 15) & 0x7fff, value & 0x7fff];
  return [
    (prefix << 4) | (high << 1) | 1,
    ...[middle >> 7, ((middle & 0x7f) << 1) | 1],
    ...[low >> 7, ((low & 0x7f) << 1) | 1],
  ];
};

const modulo = (ticks: number): number => ((Math.round(ticks) % 2 ** 33) + 2 ** 33) % 2 ** 33;

/** NAL units without their sizes; what is cut off is left out. */
const splitUnits = (sample: Uint8Array, lengthBytes: number): Uint8Array[] => {
  const units: Uint8Array[] = [];
  for (let at = 0; at + lengthBytes < sample.length; ) {
    const start = at + lengthBytes;
    const end = start + sample.subarray(at, start).reduce((size, byte) => size * 256 + byte, 0);
    if (end > sample.length) break;
    if (end > start) units.push(sample.subarray(start, end));
    at = end;
  }
  return units;
};

/** Program-specific information (ISO/IEC 13818-1, 2.4.4): which streams there are. */

const HEADER_BYTES = 3;
const CHECK_BYTES = 4;
const MAX_BYTES = 1024;
const PROGRAM_ASSOCIATION = 0;
const PROGRAM_MAP = 2;

/** Assembles the sections of one PID. */
export class SectionReader {
  #parts: Buffer = Buffer.alloc(0);
  #isOpen = false;

  lose(): void {
    this.#isOpen = false;
  }

  /** Sections that the payload completes and that are undamaged. */
  push(payload: Uint8Array, startsUnit: boolean): Buffer[] {
    let bytes = payload;
    const sections: Buffer[] = [];
    if (startsUnit) {
      const pointer = payload[0]!;
      if (this.#isOpen) sections.push(...this.#add(payload.subarray(1, 1 + pointer)));
      this.#parts = Buffer.alloc(0);
      this.#isOpen = true;
      bytes = payload.subarray(1 + pointer);
    }
    return this.#isOpen ? [...sections, ...this.#add(bytes)] : sections;
  }

  #add(bytes: Uint8Array): Buffer[] {
    this.#parts = Buffer.concat([this.#parts, bytes]);
    const sections: Buffer[] = [];
    while (this.#isOpen && this.#parts.length >= HEADER_BYTES) {
      const size = HEADER_BYTES + (this.#parts.readUInt16BE(1) & 0xfff);
      // Stuffing fills the rest of the packet.
      if (this.#parts[0] === 0xff || size > MAX_BYTES) this.#isOpen = false;
      if (!this.#isOpen || this.#parts.length < size) break;
      const section = this.#parts.subarray(0, size);
      this.#parts = this.#parts.subarray(size);
      if (size >= HEADER_BYTES + CHECK_BYTES && crc32(section) === 0) sections.push(section);
    }
    return sections;
  }
}

/** PID of the map of the first program; undefined when the section says none. */
export const readAssociation = (section: Buffer): number | undefined => {
  if (section[0] !== PROGRAM_ASSOCIATION || !isCurrent(section)) return undefined;
  for (let at = 8; at + 4 <= section.length - CHECK_BYTES; at += 4)
    if (section.readUInt16BE(at) !== 0) return section.readUInt16BE(at + 2) & 0x1fff;
  return undefined;
};

export interface ElementaryStream {
  readonly pid: number;
  /** ISO/IEC 13818-1, table 2-34. */
  readonly type: number;
  /** Format identifier of a registration descriptor, such as `Opus`; otherwise empty. */
  readonly format: string;
  /** Tags of all descriptors. */
  readonly tags: readonly number[];
}

/** The streams of a program; undefined when the section is no program map. */
export const readProgramMap = (section: Buffer): ElementaryStream[] | undefined => {
  if (section[0] !== PROGRAM_MAP || section.length < 16 || !isCurrent(section)) return undefined;
  const end = section.length - CHECK_BYTES;
  const streams: ElementaryStream[] = [];
  for (let at = 12 + (section.readUInt16BE(10) & 0xfff); at + 5 <= end; ) {
    const next = at + 5 + (section.readUInt16BE(at + 3) & 0xfff);
    if (next > end) return undefined;
    const pid = section.readUInt16BE(at + 1) & 0x1fff;
    streams.push({ pid, type: section[at]!, ...readDescriptors(section.subarray(at + 5, next)) });
    at = next;
  }
  return streams;
};

/** The next one, which does not apply yet, may be sent before. */
const isCurrent = (section: Buffer): boolean => (section[5]! & 1) === 1;

const REGISTRATION = 5;

const readDescriptors = (bytes: Buffer): Pick<ElementaryStream, 'format' | 'tags'> => {
  let format = '';
  const tags: number[] = [];
  for (let at = 0; at + 2 <= bytes.length; at += 2 + bytes[at + 1]!) {
    tags.push(bytes[at]!);
    if (bytes[at] === REGISTRATION && bytes[at + 1]! >= 4) format = bytes.toString('latin1', at + 2, at + 6);
  }
  return { format, tags };
};

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24;
  for (let bit = 0; bit < 8; bit += 1) value = (value << 1) ^ (value < 0 ? 0x04c11db7 : 0);
  return value >>> 0;
});

/** ISO/IEC 13818-1, annex A. 0 for an undamaged section with its check. */
const crc32 = (bytes: Uint8Array): number => {
  let value = 0xffffffff;
  for (const byte of bytes) value = ((value << 8) ^ CRC_TABLE[((value >>> 24) ^ byte) & 0xff]!) >>> 0;
  return value;
};

/** A section that says where the map of the only program is. */
export const writeAssociation = (mapPid: number): Buffer =>
  writeSection(PROGRAM_ASSOCIATION, 1, [0, PROGRAM, 0xe0 | (mapPid >> 8), mapPid & 0xff]);

/** @param version 5 bits, which change with the streams */
export const writeProgramMap = (
  streams: readonly Pick<ElementaryStream, 'pid' | 'type'>[],
  clockPid: number,
  version: number,
): Buffer =>
  writeSection(
    PROGRAM_MAP,
    PROGRAM,
    [
      ...[0xe0 | (clockPid >> 8), clockPid & 0xff, 0xf0, 0],
      ...streams.flatMap(({ pid, type }) => [type, 0xe0 | (pid >> 8), pid & 0xff, 0xf0, 0]),
    ],
    version,
  );

const PROGRAM = 1;

/** @param id of the transport stream, or of the program */
const writeSection = (table: number, id: number, content: readonly number[], version = 0): Buffer => {
  const sizeBytes = 5 + content.length + CHECK_BYTES;
  const head = [
    table,
    0xb0 | (sizeBytes >> 8),
    sizeBytes & 0xff,
    id >> 8,
    id & 0xff,
    0xc1 | ((version & 31) << 1),
    0,
    0,
  ];
  const bytes = Buffer.from([...head, ...content, 0, 0, 0, 0]);
  const check = crc32(bytes.subarray(0, -CHECK_BYTES));
  bytes.writeUInt32BE(check, bytes.length - CHECK_BYTES);
  return bytes;
};

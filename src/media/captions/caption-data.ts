/** Closed captions in access units of H.264 and HEVC (ATSC A/53, part 4, 6.2.3). */

/** Two bytes of a field of line 21, with their parity bits. */
export interface CaptionPair {
  readonly field: 1 | 2;
  readonly first: number;
  readonly second: number;
}

const LENGTH_BYTES = 4;
const AVC_SEI = 6;
const HEVC_PREFIX_SEI = 39;
const REGISTERED_USER_DATA = 4;
/** Country USA, provider ATSC, `GA94`, and the type of caption data. */
const CAPTIONS_HEAD = [0xb5, 0x00, 0x31, 0x47, 0x41, 0x39, 0x34, 0x03];
const PROCESS_CAPTIONS = 0x40;
const COUNT = 0x1f;
const PAIR_VALID = 0x04;
const PAIR_BYTES = 3;

/** The pairs of CEA-608 in an access unit with 4-byte lengths, in their order. */
export const readCaptionPairs = (codec: 'avc' | 'hevc', bytes: Uint8Array): CaptionPair[] => {
  const pairs: CaptionPair[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let offset = 0; offset + LENGTH_BYTES < bytes.length; ) {
    const start = offset + LENGTH_BYTES;
    const end = Math.min(start + view.getUint32(offset), bytes.length);
    const type = codec === 'avc' ? bytes[start]! & 0x1f : (bytes[start]! >> 1) & 0x3f;
    const headBytes = codec === 'avc' ? 1 : 2;
    if (type === (codec === 'avc' ? AVC_SEI : HEVC_PREFIX_SEI))
      for (const message of readMessages(withoutPrevention(bytes.subarray(start + headBytes, end))))
        pairs.push(...pairsOf(message));
    offset = end;
  }
  return pairs;
};

/** The bytes of a NAL unit as they were before emulation prevention (ISO/IEC 14496-10, 7.4.1). */
const withoutPrevention = (bytes: Uint8Array): Uint8Array => {
  const output = new Uint8Array(bytes.length);
  let length = 0;
  let zeros = 0;
  for (const byte of bytes) {
    if (zeros >= 2 && byte === 3) {
      zeros = 0;
      continue;
    }
    zeros = byte === 0 ? zeros + 1 : 0;
    output[length] = byte;
    length += 1;
  }
  return output.subarray(0, length);
};

/** The payloads of messages with user data. */
const readMessages = (bytes: Uint8Array): Uint8Array[] => {
  const messages: Uint8Array[] = [];
  let offset = 0;
  const readNumber = (): number => {
    let value = 0;
    for (; bytes[offset] === 0xff; offset += 1) value += 0xff;
    value += bytes[offset] ?? 0;
    offset += 1;
    return value;
  };
  // The last byte is the end of the NAL unit.
  while (offset + 2 < bytes.length) {
    const type = readNumber();
    const end = readNumber() + offset;
    if (type === REGISTERED_USER_DATA) messages.push(bytes.subarray(offset, end));
    offset = end;
  }
  return messages;
};

const pairsOf = (message: Uint8Array): CaptionPair[] => {
  if (!CAPTIONS_HEAD.every((byte, at) => message[at] === byte)) return [];
  const flags = message[CAPTIONS_HEAD.length] ?? 0;
  if ((flags & PROCESS_CAPTIONS) === 0) return [];
  // A byte of data for other devices is in between.
  const start = CAPTIONS_HEAD.length + 2;
  return Array.from({ length: flags & COUNT }, (_, at) => start + at * PAIR_BYTES).flatMap((offset) => {
    const [head = 0, first, second] = message.subarray(offset, offset + PAIR_BYTES);
    const type = head & 3;
    // 2 and 3 are packets of CEA-708.
    if (first === undefined || second === undefined || type > 1 || (head & PAIR_VALID) === 0) return [];
    return { field: type === 0 ? (1 as const) : (2 as const), first, second };
  });
};

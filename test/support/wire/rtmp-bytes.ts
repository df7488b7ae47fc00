/** Writes what RTMP clients send; independent of the product's own writer. */
export interface MessageToSend {
  readonly typeId: number;
  readonly payload: Uint8Array;
  readonly timestamp?: number;
  readonly streamId?: number;
}

export interface ChunkForm {
  readonly chunkStream?: number;
  readonly chunkSize?: number;
  /** Chunk type of the first chunk; 0 unless it is set. */
  readonly format?: 0 | 1 | 2 | 3;
  /** Whether chunks of type 3 repeat an extended timestamp; true unless it is set. */
  readonly repeatsExtended?: boolean;
  /** Of a type 3 that begins a message: the stream has an extended timestamp. */
  readonly extended?: number;
}

const basicHeader = (format: number, id: number): number[] => {
  if (id < 64) return [(format << 6) | id];
  if (id < 320) return [format << 6, id - 64];
  return [(format << 6) | 1, (id - 64) & 0xff, (id - 64) >> 8];
};

const bigEndian = (value: number, size: number): number[] =>
  Array.from({ length: size }, (_, index) => Math.floor(value / 256 ** (size - 1 - index)) % 256);

/** One message in chunks. With `format` 1 or 2, `timestamp` is the difference. */
export const chunksOf = (message: MessageToSend, form: ChunkForm = {}): Buffer => {
  const { typeId, payload, timestamp = 0, streamId = 0 } = message;
  const { chunkStream = 3, chunkSize = 128, format = 0, repeatsExtended = true } = form;
  const extended = form.extended ?? (format < 3 && timestamp >= 0xff_ffff ? timestamp : undefined);
  const time = bigEndian(extended === undefined ? timestamp : 0xff_ffff, 3);
  const header = [
    ...basicHeader(format, chunkStream),
    ...(format < 3 ? time : []),
    ...(format < 2 ? [...bigEndian(payload.length, 3), typeId] : []),
    ...(format === 0 ? bigEndian(streamId, 4).reverse() : []),
  ];
  const extension = extended === undefined ? [] : bigEndian(extended, 4);
  const repeated = repeatsExtended ? extension : [];
  const parts: Uint8Array[] = [Uint8Array.of(...header, ...(format < 3 ? extension : repeated))];
  for (let at = 0; at < payload.length; at += chunkSize) {
    if (at > 0) parts.push(Uint8Array.of(...basicHeader(3, chunkStream), ...repeated));
    parts.push(payload.subarray(at, at + chunkSize));
  }
  return Buffer.concat(parts);
};

/** C0, C1 and C2 of the simple form. */
export const handshakeBytes: Buffer = Buffer.concat([Buffer.of(3), Buffer.alloc(2 * 1536, 7)]);

type Value = string | number | null | Readonly<Record<string, string | number>>;

const amf0 = (value: Value): Buffer => {
  if (value === null) return Buffer.of(5);
  if (typeof value === 'string') return Buffer.concat([Buffer.of(2), name(value)]);
  if (typeof value === 'object') {
    const properties = Object.entries(value).flatMap(([key, item]) => [name(key), amf0(item)]);
    return Buffer.concat([Buffer.of(3), ...properties, Buffer.of(0, 0, 9)]);
  }
  const bytes = Buffer.alloc(9);
  bytes.writeDoubleBE(value, 1);
  return bytes;
};

const name = (text: string): Buffer => Buffer.concat([Buffer.of(0, text.length), Buffer.from(text)]);

/** A command, in AMF0. */
export const commandBytes = (...values: readonly Value[]): Buffer =>
  chunksOf({ typeId: 20, payload: Buffer.concat(values.map(amf0)) });

/** All that comes before a stream's first packet. */
export const openingBytes = (key: string, app = 'app'): Buffer =>
  Buffer.concat([
    handshakeBytes,
    commandBytes('connect', 1, { app, tcUrl: `rtmp://127.0.0.1/${app}` }),
    commandBytes('createStream', 2, null),
    commandBytes('publish', 3, null, key, 'live'),
  ]);

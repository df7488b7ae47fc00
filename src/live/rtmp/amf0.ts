import { invalidParameters } from '../../lib/errors.js';

/**
 * AMF0 (Action Message Format, version 0): the values of commands and metadata. Objects are maps,
 * because their names are chosen by the peer.
 */
export type Amf0Value =
  | number
  | boolean
  | string
  | null
  | undefined
  | readonly Amf0Value[]
  | ReadonlyMap<string, Amf0Value>;

const NUMBER = 0;
const BOOLEAN = 1;
const STRING = 2;
const OBJECT = 3;
const NULL = 5;
const UNDEFINED = 6;
const ECMA_ARRAY = 8;
const OBJECT_END = 9;
const STRICT_ARRAY = 10;
const DATE = 11;
const LONG_STRING = 12;
const UNSUPPORTED = 13;
const XML_DOCUMENT = 15;
const TYPED_OBJECT = 16;

/** Encoders nest twice, and send a few dozen values. */
const MAX_DEPTH = 8;
const MAX_VALUES = 2000;

/**
 * All values of a message, in order.
 * @throws KinoraError `invalid_parameters` if it is not AMF0, or exceeds a limit
 */
export const readAmf0 = (bytes: Buffer): Amf0Value[] => {
  const reader = new Amf0Reader(bytes);
  const values: Amf0Value[] = [];
  while (!reader.isAtEnd) values.push(reader.value(0));
  return values;
};

class Amf0Reader {
  private at = 0;
  private values = 0;

  constructor(private readonly bytes: Buffer) {}

  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }

  value(depth: number): Amf0Value {
    this.values += 1;
    if (depth > MAX_DEPTH || this.values > MAX_VALUES) throw invalidParameters('AMF0 values are too many or too deep.');
    const marker = this.bytes[this.take(1)]!;
    switch (marker) {
      case NUMBER:
        return this.bytes.readDoubleBE(this.take(8));
      case BOOLEAN:
        return this.bytes[this.take(1)] !== 0;
      case STRING:
        return this.text(this.bytes.readUInt16BE(this.take(2)));
      case LONG_STRING:
      case XML_DOCUMENT:
        return this.text(this.bytes.readUInt32BE(this.take(4)));
      case NULL:
        return null;
      case UNDEFINED:
      case UNSUPPORTED:
        return undefined;
      case TYPED_OBJECT:
        this.text(this.bytes.readUInt16BE(this.take(2)));
        return this.properties(depth);
      case OBJECT:
        return this.properties(depth);
      case ECMA_ARRAY:
        // The count is a hint: some encoders write 0.
        this.take(4);
        return this.properties(depth);
      case STRICT_ARRAY:
        return this.items(this.bytes.readUInt32BE(this.take(4)), depth);
      case DATE: {
        const milliseconds = this.bytes.readDoubleBE(this.take(8));
        // A time zone, which is not used.
        this.take(2);
        return milliseconds;
      }
      default:
        throw invalidParameters('An AMF0 value has an unknown type.');
    }
  }

  private properties(depth: number): ReadonlyMap<string, Amf0Value> {
    const properties = new Map<string, Amf0Value>();
    for (;;) {
      const name = this.text(this.bytes.readUInt16BE(this.take(2)));
      if (name === '' && this.bytes[this.at] === OBJECT_END) {
        this.take(1);
        return properties;
      }
      properties.set(name, this.value(depth + 1));
    }
  }

  private items(count: number, depth: number): Amf0Value[] {
    const items: Amf0Value[] = [];
    for (let index = 0; index < count; index++) items.push(this.value(depth + 1));
    return items;
  }

  private text(size: number): string {
    const start = this.take(size);
    return this.bytes.toString('utf8', start, this.at);
  }

  /** @returns where these bytes begin */
  private take(size: number): number {
    const start = this.at;
    if (size > this.bytes.length - start) throw invalidParameters('An AMF0 value is cut off.');
    this.at = start + size;
    return start;
  }
}

/** Texts are at most 65,535 bytes long. */
export const writeAmf0 = (...values: readonly Amf0Value[]): Buffer => Buffer.concat(values.flatMap(valueParts));

const valueParts = (value: Amf0Value): Buffer[] => {
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(9);
    bytes.writeDoubleBE(value, 1);
    return [bytes];
  }
  if (typeof value === 'boolean') return [Buffer.of(BOOLEAN, value ? 1 : 0)];
  if (typeof value === 'string') return [Buffer.of(STRING), textBytes(value)];
  if (value === null) return [Buffer.of(NULL)];
  if (value === undefined) return [Buffer.of(UNDEFINED)];
  if (value instanceof Map) {
    const properties = [...value].flatMap(([name, item]) => [textBytes(name), ...valueParts(item)]);
    return [Buffer.of(OBJECT), ...properties, Buffer.of(0, 0, OBJECT_END)];
  }
  const items = value as readonly Amf0Value[];
  const header = Buffer.of(STRICT_ARRAY, 0, 0, 0, 0);
  header.writeUInt32BE(items.length, 1);
  return [header, ...items.flatMap(valueParts)];
};

const textBytes = (text: string): Buffer => {
  const bytes = Buffer.from(text, 'utf8');
  const size = Buffer.alloc(2);
  size.writeUInt16BE(bytes.length, 0);
  return Buffer.concat([size, bytes]);
};

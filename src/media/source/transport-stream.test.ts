import { expect, test } from 'vitest';
import { isTransportStream } from './transport-stream.js';

const packets = (length: number, offset = 0): Uint8Array => {
  const bytes = new Uint8Array(1024);
  for (let packet = 0; packet < 5; packet += 1) bytes[packet * length + offset] = 0x47;
  return bytes;
};

test.each([
  ['packets', packets(188)],
  ['packets after time stamps', packets(192, 4)],
  ['packets before error correction', packets(204)],
])('recognizes %s', (_name, bytes) => expect(isTransportStream(bytes)).toBe(true));

test.each([
  ['text that begins like one', Buffer.from('G'.padEnd(1024, 'x'))],
  ['a packet that does not begin', packets(188).fill(0, 376, 377)],
  ['too few bytes', packets(188).subarray(0, 700)],
])('refuses %s', (_name, bytes) => expect(isTransportStream(bytes)).toBe(false));

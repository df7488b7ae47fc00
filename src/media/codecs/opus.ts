/** How many samples at 48 kHz a packet stands for (RFC 6716, 3.1); 0 for an empty one. */
export const opusSamples = (packet: Uint8Array): number => {
  const [toc, counts = 0] = packet;
  if (toc === undefined) return 0;
  const config = toc >> 3;
  const code = toc & 3;
  const frames = code === 0 ? 1 : code === 3 ? counts & 0x3f : 2;
  if (config < 12) return frames * [480, 960, 1920, 2880][config % 4]!;
  return frames * (config < 16 ? [480, 960][config % 2]! : 120 << (config % 4));
};

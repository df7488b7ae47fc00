/**
 * Baseline JPEG files (ITU-T T.81) of flat 8 x 8 blocks, of kinds that FFmpeg's own encoder doesn't
 * write.
 */

export interface JpegSettings {
  /** Of the frame in blocks. */
  readonly columns: number;
  readonly rows: number;
  /** One value per component, 0 to 255: 1 gray, 3 Y'CbCr, 4 as `adobeTransform` says. */
  readonly blockAt: (column: number, row: number) => readonly number[];
  /** Adobe's marker: 0 CMYK, 2 YCCK (both inverted). */
  readonly adobeTransform?: 0 | 2;
  /** EXIF orientation, 1 to 8. */
  readonly orientation?: number;
}

const marker = (code: number, body: Buffer = Buffer.alloc(0)): Buffer => {
  const head = Buffer.from([0xff, code, 0, 0]);
  head.writeUInt16BE(body.length + 2, 2);
  return Buffer.concat([head, body]);
};

const exif = (orientation: number): Buffer => {
  const tiff = Buffer.alloc(26);
  tiff.write('MM\0*', 'latin1');
  tiff.writeUInt32BE(8, 4);
  tiff.writeUInt16BE(1, 8);
  // Tag 0x0112, one SHORT.
  tiff.writeUInt16BE(0x0112, 10);
  tiff.writeUInt16BE(3, 12);
  tiff.writeUInt32BE(1, 14);
  tiff.writeUInt16BE(orientation, 18);
  return Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), tiff]);
};

export const writeJpeg = ({ columns, rows, blockAt, adobeTransform, orientation }: JpegSettings): Buffer => {
  const components = blockAt(0, 0).length;
  const ids = Array.from({ length: components }, (_, index) => index + 1);
  const frame = Buffer.from([8, 0, 0, 0, 0, components, ...ids.flatMap((id) => [id, 0x11, 0])]);
  frame.writeUInt16BE(rows * 8, 1);
  frame.writeUInt16BE(columns * 8, 3);
  // Differences of 0 to 11 bits have codes of four bits; the end of a block is the only code beside
  // them.
  const dcCodes = [0x00, 0, 0, 0, 12, ...Array(12).fill(0), ...Array(12).keys()];
  const acCodes = [0x10, 1, ...Array(15).fill(0), 0];
  let bits = '';
  const before = ids.map(() => 0);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      for (const [component, value] of blockAt(column, row).entries()) {
        // The quantiser is 8, and so is what a flat block is scaled by.
        const difference = value - 128 - before[component]!;
        before[component] = value - 128;
        const size = difference === 0 ? 0 : Math.floor(Math.log2(Math.abs(difference))) + 1;
        const coded = difference < 0 ? difference + 2 ** size - 1 : difference;
        const code = size > 0 ? coded.toString(2).padStart(size, '0') : '';
        bits += `${size.toString(2).padStart(4, '0')}${code}0`;
      }
    }
  }
  bits = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1');
  const data = bits.match(/.{8}/g)!.flatMap((byte) => (byte === '11111111' ? [255, 0] : [Number.parseInt(byte, 2)]));
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    ...(orientation === undefined ? [] : [marker(0xe1, exif(orientation))]),
    ...(adobeTransform === undefined
      ? []
      : [marker(0xee, Buffer.from([...Buffer.from('Adobe'), 0, 100, 0, 0, 0, 0, adobeTransform]))]),
    marker(0xdb, Buffer.from([0, ...Array(64).fill(8)])),
    marker(0xc0, frame),
    marker(0xc4, Buffer.from(dcCodes)),
    marker(0xc4, Buffer.from(acCodes)),
    marker(0xda, Buffer.from([components, ...ids.flatMap((id) => [id, 0]), 0, 63, 0])),
    Buffer.from(data),
    Buffer.from([0xff, 0xd9]),
  ]);
};

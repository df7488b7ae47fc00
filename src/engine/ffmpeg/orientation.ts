/**
 * A display matrix (ISO/IEC 14496-12, 8.2.2) maps a point to (a x + c y, b x + d y). It has nine
 * 32-bit numbers in host byte order, starting with a, b, an unused one, c, d. Rotations are rounded
 * to a multiple of 90 degrees.
 */
export const orientationOf = (matrix: Buffer | null): { rotation: 0 | 90 | 180 | 270; flipHorizontal: boolean } => {
  if (matrix === null || matrix.length < 36) return { rotation: 0, flipHorizontal: false };
  const [a, b, c, d] = [0, 4, 12, 16].map((offset) => matrix.readInt32LE(offset)) as [number, number, number, number];
  const flipHorizontal = a * d - b * c < 0;
  // Mirroring the result changes the sign of x, which leaves a pure rotation.
  const degrees = (Math.atan2(b, flipHorizontal ? -a : a) * 180) / Math.PI;
  const rotation = (((Math.round(degrees / 90) * 90) % 360) + 360) % 360;
  return { rotation: rotation as 0 | 90 | 180 | 270, flipHorizontal };
};

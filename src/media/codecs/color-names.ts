/**
 * FFmpeg's numbers (ISO/IEC 23091-2) and names for color descriptions; a number without a name is
 * `unknown`.
 */
export const PRIMARIES: Readonly<Record<number, string>> = {
  1: 'bt709',
  4: 'bt470m',
  5: 'bt470bg',
  6: 'smpte170m',
  7: 'smpte240m',
  8: 'film',
  9: 'bt2020',
  10: 'smpte428',
  11: 'smpte431',
  12: 'smpte432',
  22: 'jedec-p22',
};

export const TRANSFERS: Readonly<Record<number, string>> = {
  1: 'bt709',
  4: 'bt470m',
  5: 'bt470bg',
  6: 'smpte170m',
  7: 'smpte240m',
  8: 'linear',
  9: 'log100',
  10: 'log316',
  11: 'iec61966-2-4',
  12: 'bt1361e',
  13: 'iec61966-2-1',
  14: 'bt2020-10',
  15: 'bt2020-12',
  16: 'smpte2084',
  17: 'smpte428',
  18: 'arib-std-b67',
};

export const MATRICES: Readonly<Record<number, string>> = {
  0: 'gbr',
  1: 'bt709',
  4: 'fcc',
  5: 'bt470bg',
  6: 'smpte170m',
  7: 'smpte240m',
  8: 'ycgco',
  9: 'bt2020nc',
  10: 'bt2020c',
  11: 'smpte2085',
  12: 'chroma-derived-nc',
  13: 'chroma-derived-c',
  14: 'ictcp',
  15: 'ipt-c2',
  16: 'ycgco-re',
  17: 'ycgco-ro',
};

/** The matrices that FFmpeg's filter `scale` converts. */
const SCALED_MATRICES: ReadonlySet<string> = new Set([
  ...['gbr', 'bt709', 'fcc', 'bt470bg', 'smpte170m', 'smpte240m', 'bt2020nc'],
]);
/** Those that only `zscale` converts. */
const OTHER_MATRICES: ReadonlySet<string> = new Set([
  ...['ycgco', 'bt2020c', 'chroma-derived-nc', 'chroma-derived-c', 'ictcp'],
]);

/**
 * `scale`: the filter `scale` converts the matrix. `zscale`: only that filter does. `none`: neither
 * does.
 */
export const matrixSupport = (color: {
  readonly matrix: string;
  readonly transfer: string;
}): 'scale' | 'zscale' | 'none' => {
  const { matrix, transfer } = color;
  if (SCALED_MATRICES.has(matrix) || matrix === 'unknown') return 'scale';
  // ICtCp is only defined for HDR.
  if (matrix === 'ictcp' && transfer !== 'smpte2084' && transfer !== 'arib-std-b67') return 'none';
  return OTHER_MATRICES.has(matrix) ? 'zscale' : 'none';
};

export const RANGES: Readonly<Record<number, string>> = { 1: 'tv', 2: 'pc' };

/** Code points of a color description. */
export interface Nclx {
  readonly primaries: number;
  readonly transfer: number;
  readonly matrix: number;
  readonly fullRange: boolean;
}

const UNSPECIFIED = 2;
const numberOf = (names: Readonly<Record<number, string>>, name: string): number =>
  Number(Object.entries(names).find(([, candidate]) => candidate === name)?.[0] ?? UNSPECIFIED);

/**
 * The code points of a color description given by names. Undefined when its transfer function is
 * unknown.
 */
export const nclxOf = (color: {
  readonly primaries: string;
  readonly transfer: string;
  readonly matrix: string;
  readonly range: string;
}): Nclx | undefined => {
  const transfer = numberOf(TRANSFERS, color.transfer);
  if (transfer === UNSPECIFIED) return undefined;
  return {
    primaries: numberOf(PRIMARIES, color.primaries),
    transfer,
    matrix: numberOf(MATRICES, color.matrix),
    fullRange: color.range === 'pc',
  };
};

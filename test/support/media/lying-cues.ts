import { listElements } from '#kinora/media/matroska/ebml.js';
import { findMatroskaLayout } from '#kinora/media/matroska/layout.js';

const CUE_POINT = 0xbb;
const CUE_TIME = 0xb3;
const CUE_TRACK_POSITIONS = 0xb7;
const CUE_CLUSTER_POSITION = 0xf1;

/** A copy of a Matroska file in which one cue says something else. */
export const withLyingCue = async (
  bytes: Buffer,
  cue: number,
  field: 'time' | 'position',
  change: (value: number) => number,
): Promise<Buffer> => {
  const copy = Buffer.from(bytes);
  const layout = await findMatroskaLayout(async (at, length) => copy.subarray(at, at + length), copy.length);
  if (typeof layout === 'string') throw new Error(layout);
  const point = listElements(copy, layout.cues.start, layout.cues.end)!.filter(({ id }) => id === CUE_POINT)[cue]!;
  const children = listElements(copy, point.content, point.end)!;
  const positions = children.find(({ id }) => id === CUE_TRACK_POSITIONS)!;
  const { content, end } =
    field === 'time'
      ? children.find(({ id }) => id === CUE_TIME)!
      : listElements(copy, positions.content, positions.end)!.find(({ id }) => id === CUE_CLUSTER_POSITION)!;
  copy.writeUIntBE(change(copy.readUIntBE(content, end - content)), content, end - content);
  return copy;
};

/** A copy of a Matroska file with cues that no list of elements mentions. */
export const withUnknownCues = async (bytes: Buffer): Promise<Buffer> => {
  const copy = Buffer.from(bytes);
  const seek = copy.indexOf(Buffer.from('53ab841c53bb6b', 'hex'));
  copy.writeUInt32BE(0x1c53bb6a, seek + 3);
  return copy;
};

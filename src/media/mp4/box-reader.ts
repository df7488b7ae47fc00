/**
 * Reads the box structure of ISO/IEC 14496-12. Shares no code with the writer, so that one can
 * check the other.
 */
export interface Mp4Box {
  readonly type: string;
  /** Offset of the header. */
  readonly start: number;
  /** Offset of the first byte after the header (size, type and, if present, the 64-bit size). */
  readonly content: number;
  /** Offset after the last byte. */
  readonly end: number;
}

/** A box with version and flags. Its content begins after them. */
export interface Mp4FullBox extends Mp4Box {
  readonly version: number;
  readonly flags: number;
}

export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * The box header at `start`; undefined when the box does not end by `limit`. Size 0 means that the
 * box ends at `limit`.
 */
export const readBoxHeader = (view: DataView, start: number, limit: number): Mp4Box | undefined => {
  if (start + 8 > view.byteLength) return undefined;
  let size = view.getUint32(start);
  let content = start + 8;
  if (size === 1) {
    if (start + 16 > view.byteLength) return undefined;
    size = view.getUint32(start + 8) * 0x1_0000_0000 + view.getUint32(start + 12);
    content = start + 16;
  }
  const end = size === 0 ? limit : start + size;
  if (end < content || end > limit) return undefined;
  const type = String.fromCharCode(...new Uint8Array(view.buffer, view.byteOffset + start + 4, 4));
  return { type, start, content, end };
};

/**
 * Maximum number of boxes in one container. Real files have far fewer; 256 MB of empty boxes would
 * take gigabytes as objects.
 */
const MAX_BOXES = 100_000;

/** The boxes that fill [start, end) exactly; undefined when they don't fill it or are too many. */
export const listBoxes = (bytes: Uint8Array, start = 0, end = bytes.length): Mp4Box[] | undefined => {
  const view = viewOf(bytes);
  const boxes: Mp4Box[] = [];
  for (let offset = start; offset < end; ) {
    const box = readBoxHeader(view, offset, end);
    if (!box || boxes.length === MAX_BOXES) return undefined;
    boxes.push(box);
    offset = box.end;
  }
  return boxes;
};

/**
 * The box at `path` within [start, end); undefined when it is missing, not unique or badly nested.
 */
export const findBox = (
  bytes: Uint8Array,
  path: readonly string[],
  start = 0,
  end = bytes.length,
): Mp4Box | undefined => {
  let innermost: Mp4Box | undefined;
  for (const type of path) {
    const parent: Mp4Box | undefined = innermost;
    const boxes = listBoxes(bytes, parent?.content ?? start, parent?.end ?? end)?.filter((box) => box.type === type);
    if (boxes?.length !== 1) return undefined;
    innermost = boxes[0];
  }
  return innermost;
};

/** Version and flags of a box; undefined when it is too short for them. */
export const asFullBox = (bytes: Uint8Array, box: Mp4Box | undefined): Mp4FullBox | undefined => {
  if (!box || box.content + 4 > box.end) return undefined;
  const word = viewOf(bytes).getUint32(box.content);
  return { ...box, content: box.content + 4, version: word >>> 24, flags: word & 0xff_ffff };
};

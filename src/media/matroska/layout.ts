import type { ByteRange } from '../../lib/byte-ranges.js';
import type { ReadRange } from '../mp4/sample-tables.js';
import { type EbmlElement, listElements, MAX_HEADER_BYTES, readElement, readUnsigned } from './ebml.js';

/** Where the parts of a Matroska or WebM file are. */
export interface MatroskaLayout {
  /** The position from which the file counts. */
  readonly origin: number;
  readonly firstCluster: number;
  readonly info: ByteRange;
  readonly tracks: ByteRange;
  readonly cues: ByteRange;
  /** What a demuxer reads when it opens the file. */
  readonly opening: readonly ByteRange[];
}

const EBML = 0x1a45dfa3;
const SEGMENT = 0x18538067;
const SEEK_HEAD = 0x114d9b74;
const SEEK_ID = 0x53ab;
const SEEK_POSITION = 0x53ac;
const INFO = 0x1549a966;
const TRACKS = 0x1654ae6b;
const CUES = 0x1c53bb6b;
const CLUSTER = 0x1f43b675;

const MAX_ELEMENTS = 64;
const MAX_SEEK_HEAD_BYTES = 64 * 1024;
/** More than the cues of a twelve-hour file, with fonts and cover images. */
const MAX_OPENING_BYTES = 64 * 2 ** 20;

/** Whether a file that begins with `bytes` is a Matroska or WebM file. */
export const isMatroska = (bytes: Uint8Array): boolean => readElement(bytes, 0)?.id === EBML;

/** Finds the parts of a Matroska file from the headers of its elements; a reason when one is missing. */
export const findMatroskaLayout = async (read: ReadRange, sizeBytes: number): Promise<MatroskaLayout | string> => {
  const readHeader = async (offset: number): Promise<EbmlElement | undefined> =>
    offset < sizeBytes
      ? readElement(await read(offset, Math.min(MAX_HEADER_BYTES, sizeBytes - offset)), 0, offset)
      : undefined;
  const ebml = await readHeader(0);
  const segment = ebml && (await readHeader(ebml.end));
  if (segment?.id !== SEGMENT) return 'it has no segment';
  const found = new Map<number, EbmlElement>();
  const seekHeads: EbmlElement[] = [];
  let offset = segment.content;
  let firstCluster: number | undefined;
  for (let count = 0; count < MAX_ELEMENTS && firstCluster === undefined; count += 1) {
    const element = await readHeader(offset);
    if (!element) return 'no frames were found at its start';
    if (element.id === CLUSTER) firstCluster = element.start;
    else if (element.end > sizeBytes) return 'an element ends after the file';
    else if (element.id === SEEK_HEAD) seekHeads.push(element);
    if (!found.has(element.id)) found.set(element.id, element);
    offset = element.end;
  }
  if (firstCluster === undefined) return 'no frames were found at its start';
  const opening: ByteRange[] = [{ start: 0, end: firstCluster }];
  for (let count = 0; count < seekHeads.length && count < MAX_ELEMENTS; count += 1) {
    const { content, end } = seekHeads[count]!;
    if (end - content > MAX_SEEK_HEAD_BYTES) return 'its list of elements is too large';
    for (const { id, position } of listSeeks(await read(content, end - content))) {
      const target = segment.content + position;
      if (target < firstCluster || id === CLUSTER) continue;
      const element = await readHeader(target);
      if (element?.id !== id || element.end > sizeBytes) return 'its list of elements points to something else';
      opening.push({ start: element.start, end: element.end });
      if (id === SEEK_HEAD && !seekHeads.some(({ start }) => start === target)) seekHeads.push(element);
      if (!found.has(id)) found.set(id, element);
    }
  }
  const [info, tracks, cues] = [INFO, TRACKS, CUES].map((id) => found.get(id));
  if (!info || !tracks) return 'its tracks are not described at its start';
  if (!cues) return 'it has no cues';
  if (opening.reduce((sum, { start, end }) => sum + end - start, 0) > MAX_OPENING_BYTES)
    return 'its cues are too large';
  const contentOf = ({ content, end }: EbmlElement): ByteRange => ({ start: content, end });
  return {
    origin: segment.content,
    firstCluster,
    info: contentOf(info),
    tracks: contentOf(tracks),
    cues: contentOf(cues),
    opening,
  };
};

/** The entries of a SeekHead. */
const listSeeks = (bytes: Uint8Array): { id: number; position: number }[] =>
  (listElements(bytes, 0, bytes.length) ?? []).flatMap((seek) => {
    const children = listElements(bytes, seek.content, seek.end) ?? [];
    const [id, position] = [SEEK_ID, SEEK_POSITION].map((wanted) => children.find((child) => child.id === wanted));
    return id && position ? [{ id: readUnsigned(bytes, id), position: readUnsigned(bytes, position) }] : [];
  });

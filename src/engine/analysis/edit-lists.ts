import { asFullBox, findBox, listBoxes, type Mp4Box, viewOf } from '../../media/mp4/box-reader.js';
import type { MediaSource } from '../../pool/protocol.js';
import { readMoov } from './read-moov.js';

const NORMAL_RATE = 0x10000;

/** Empty edits (a late start), then at most one edit at normal speed (ISO/IEC 14496-12, 8.6.6). */
const isSimple = (moov: Uint8Array, box: Mp4Box): boolean => {
  const list = asFullBox(moov, box);
  if (!list || list.version > 1 || list.content + 4 > list.end) return false;
  const view = viewOf(moov);
  const timeBytes = list.version === 1 ? 8 : 4;
  const entryBytes = 2 * timeBytes + 4;
  const count = view.getUint32(list.content);
  if (list.content + 4 + count * entryBytes > list.end) return false;
  for (let index = 0; index < count; index += 1) {
    const entry = list.content + 4 + index * entryBytes;
    // An empty edit has a media time of -1.
    const isEmpty = view.getInt32(entry + timeBytes) < 0;
    if (isEmpty === (index === count - 1)) return false;
    if (!isEmpty && view.getUint32(entry + 2 * timeBytes) !== NORMAL_RATE) return false;
  }
  return true;
};

/**
 * For each track of an MP4 or MOV (by ID) that has an edit list: whether the list only shifts the start or cuts the
 * ends. The result is empty when the boxes can't be read.
 */
export const readEditLists = async (source: MediaSource): Promise<ReadonlyMap<number, boolean>> => {
  const simple = new Map<number, boolean>();
  const moov = await readMoov(source);
  const root = moov && listBoxes(moov)?.[0];
  for (const track of (root && listBoxes(moov, root.content, root.end)) ?? []) {
    if (track.type !== 'trak') continue;
    const header = asFullBox(moov!, findBox(moov!, ['tkhd'], track.content, track.end));
    const edits = findBox(moov!, ['edts', 'elst'], track.content, track.end);
    const idOffset = header && header.content + (header.version === 1 ? 16 : 8);
    if (!edits || idOffset === undefined || idOffset + 4 > header!.end) continue;
    simple.set(viewOf(moov!).getUint32(idOffset), isSimple(moov!, edits));
  }
  return simple;
};

import { readFileSync, writeFileSync } from 'node:fs';
import type { AudioPacket, IngestPacket, VideoPacket } from '#kinora/live/ingest.js';
import { readAudioTag, readVideoTag } from '#kinora/live/rtmp/flv-tags.js';

const FILE_HEADER_BYTES = 13;
const TAG_HEADER_BYTES = 11;
const AUDIO = 8;
const VIDEO = 9;

/** A tag of an FLV file, which is a message of RTMP. */
export interface Tag {
  readonly typeId: number;
  readonly ms: number;
  readonly payload: Buffer;
}

export const readTags = (path: string): Tag[] => {
  const file = readFileSync(path);
  const tags: Tag[] = [];
  for (let at = FILE_HEADER_BYTES; at + TAG_HEADER_BYTES <= file.length; ) {
    const start = at + TAG_HEADER_BYTES;
    const end = start + file.readUIntBE(at + 1, 3);
    const ms = file.readUIntBE(at + 4, 3) + file[at + 7]! * 2 ** 24;
    tags.push({ typeId: file[at]!, ms, payload: Buffer.from(file.subarray(start, end)) });
    at = end + 4;
  }
  return tags;
};

/** Replaces the tags of an FLV file. */
export const replaceTags = (path: string, tags: readonly Tag[]): void => {
  const header = readFileSync(path).subarray(0, FILE_HEADER_BYTES);
  const parts = tags.flatMap(({ typeId, ms, payload }) => {
    const head = Buffer.alloc(TAG_HEADER_BYTES);
    head[0] = typeId;
    head.writeUIntBE(payload.length, 1, 3);
    head.writeUIntBE(ms % 2 ** 24, 4, 3);
    const size = Buffer.alloc(4);
    size.writeUInt32BE(TAG_HEADER_BYTES + payload.length);
    return [head, payload, size];
  });
  writeFileSync(path, Buffer.concat([header, ...parts]));
};

/** The same tags at another time of the encoder's clock. */
export const shiftTags = (tags: readonly Tag[], ms: number): Tag[] => tags.map((tag) => ({ ...tag, ms: tag.ms + ms }));

/** What the product makes of tags that an encoder sends. */
export const packetsOfTags = (tags: readonly Tag[]): IngestPacket[] =>
  tags.flatMap(({ typeId, payload, ms }) => toPacket(typeId, payload, ms) ?? []);

/** The tags of an FLV file as an encoder would send them over RTMP. */
export const readFlvPackets = (path: string): IngestPacket[] => packetsOfTags(readTags(path));

const toPacket = (type: number, body: Buffer, dtsMs: number): IngestPacket | undefined => {
  if (type === VIDEO) {
    const tag = readVideoTag(body);
    if (tag.kind === 'config') return { kind: 'video-config', config: { codec: tag.codec, record: tag.record } };
    if (tag.kind !== 'frame') return undefined;
    const { isKey, compositionMs, data } = tag;
    return { kind: 'video', dtsMs, compositionMs, isKey, data };
  }
  if (type !== AUDIO) return undefined;
  const tag = readAudioTag(body);
  if (tag.kind === 'config') return { kind: 'audio-config', config: { codec: 'aac', record: tag.record } };
  return tag.kind === 'frame' ? { kind: 'audio', dtsMs, data: tag.data } : undefined;
};

/** The same packets at another time of the encoder's clock. */
export const shiftPackets = (packets: readonly IngestPacket[], ms: number): IngestPacket[] =>
  packets.map((packet) => (isFrame(packet) ? { ...packet, dtsMs: packet.dtsMs + ms } : packet));

export const isFrame = (packet: IngestPacket): packet is VideoPacket | AudioPacket =>
  packet.kind === 'video' || packet.kind === 'audio';

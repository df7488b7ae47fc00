import { once } from 'node:events';
import { connect } from 'node:net';
import { chunksOf, openingBytes } from '../wire/rtmp-bytes.js';
import type { Tag } from './flv-packets.js';

const CHUNK_SIZE = 65_536;
const SET_CHUNK_SIZE = 1;

/** Publishes tags as they come, whatever their times: encoders would repair them. */
export const publishTags = async (
  port: number,
  key: string,
  tags: Iterable<Tag> | AsyncIterable<Tag>,
): Promise<void> => {
  const socket = connect(port, '127.0.0.1');
  socket.resume();
  const size = Buffer.alloc(4);
  size.writeUInt32BE(CHUNK_SIZE);
  socket.write(openingBytes(key));
  socket.write(chunksOf({ typeId: SET_CHUNK_SIZE, payload: size }, { chunkStream: 2 }));
  for await (const { typeId, ms, payload } of tags) {
    const message = { typeId, payload, timestamp: ms, streamId: 1 };
    socket.write(chunksOf(message, { chunkStream: typeId, chunkSize: CHUNK_SIZE }));
  }
  socket.end();
  await once(socket, 'close');
};

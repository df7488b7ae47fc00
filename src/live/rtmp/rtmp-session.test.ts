import { expect, it } from 'vitest';
import { memoryLogger } from '../../../test/support/memory-logger.js';
import { MemoryTarget } from '../../../test/support/memory-target.js';
import { chunksOf, commandBytes, handshakeBytes, openingBytes } from '../../../test/support/wire/rtmp-bytes.js';
import { AttemptLimit } from '../attempt-limit.js';
import type { IngestTarget } from '../ingest.js';
import { readAmf0 } from './amf0.js';
import { ChunkReader, type RtmpMessage } from './chunk-reader.js';
import { RtmpSession } from './rtmp-session.js';

const KEY = 'stream-key-1';

/** A session whose client is the test. */
const open = ({ target = new MemoryTarget([KEY]) as IngestTarget, failedKeyLimit = 60 } = {}) => {
  const state = { nowMs: 0, isPaused: false, isClosed: false };
  const clock = { now: () => new Date(0), monotonicMs: () => state.nowMs };
  const sent: Uint8Array[] = [];
  const logger = memoryLogger();
  const failedKeys = new AttemptLimit(failedKeyLimit, clock);
  const session = new RtmpSession({
    peer: '192.0.2.1',
    transport: {
      send: (bytes) => sent.push(bytes),
      pause: () => {
        state.isPaused = true;
      },
      resume: () => {
        state.isPaused = false;
      },
      close: () => {
        state.isClosed = true;
      },
    },
    target,
    failedKeys,
    logger,
    clock,
    publishTimeoutMs: 10_000,
    idleTimeoutMs: 5000,
  });
  /** What the server has sent after the handshake. */
  const responses = (): RtmpMessage[] => {
    const messages: RtmpMessage[] = [];
    const reader = new ChunkReader((message) => messages.push(message), { messageBytes: 65_536, pendingBytes: 65_536 });
    reader.push(Buffer.concat(sent).subarray(1 + 2 * 1536));
    return messages;
  };
  const commands = () => responses().flatMap(({ typeId, payload }) => (typeId === 20 ? [readAmf0(payload)] : []));
  const statuses = () =>
    commands()
      .filter(([command]) => command === 'onStatus')
      .map(([, , , info]) => info as ReadonlyMap<string, unknown>)
      .map((info) => [info.get('level'), info.get('code'), info.get('description')]);
  return { session, state, sent, logger, failedKeys, responses, commands, statuses };
};

/** Decisions are asynchronous. */
const decided = () => new Promise((resolve) => setImmediate(resolve));

const videoConfig = chunksOf({ typeId: 9, payload: Buffer.from('1700000000000164', 'hex'), streamId: 1 });
const videoFrame = chunksOf({ typeId: 9, payload: Buffer.from('1701000000aa', 'hex'), timestamp: 40, streamId: 1 });

it('answers the commands of a publisher', async () => {
  const target = new MemoryTarget([KEY]);
  const { session, sent, commands, statuses } = open({ target });
  session.receive(handshakeBytes);
  expect(Buffer.concat(sent)[0]).toBe(3);
  expect(Buffer.concat(sent).subarray(1537)).toEqual(handshakeBytes.subarray(1, 1537));
  session.receive(openingBytes(KEY).subarray(handshakeBytes.length));
  session.receive(
    Buffer.concat([commandBytes('releaseStream', 4, null, KEY), commandBytes('getStreamLength', 5, null, KEY)]),
  );
  await decided();
  expect(commands().map(([command, transaction]) => [command, transaction])).toEqual([
    ['_result', 1],
    ['_result', 2],
    ['onStatus', 0],
    ['_result', 4],
    ['_error', 5],
  ]);
  expect(statuses()).toEqual([['status', 'NetStream.Publish.Start', 'The stream is being received.']]);
  expect(target.publications[0]!.request).toMatchObject({ streamKey: KEY, protocol: 'rtmp', peer: '192.0.2.1' });
});

it('sets a large chunk size, which FFmpeg takes over', () => {
  const { session, sent } = open();
  session.receive(openingBytes(KEY));
  expect(Buffer.concat(sent).toString('hex')).toContain('02000000000004010000000000010000');
});

it('takes commands of AMF3 clients, and keys from the application', async () => {
  const target = new MemoryTarget([KEY]);
  const { session } = open({ target });
  session.receive(handshakeBytes);
  for (const command of [
    commandBytes('connect', 1, { app: `app/${KEY}`, objectEncoding: 3 }),
    commandBytes('publish', 3, null, '', 'live'),
  ])
    session.receive(chunksOf({ typeId: 17, payload: Buffer.concat([Buffer.of(0), command.subarray(12)]) }));
  await decided();
  expect(target.publications).toHaveLength(1);
});

it('keeps what arrives while the key is looked up', async () => {
  let accept = (): void => {};
  const target = new MemoryTarget([KEY], () => new Promise((resolve) => (accept = resolve)));
  const { session, state } = open({ target });
  session.receive(Buffer.concat([openingBytes(KEY), videoConfig, videoFrame]));
  expect(state.isPaused).toBe(true);
  session.receive(videoFrame);
  accept();
  await decided();
  expect(state.isPaused).toBe(false);
  session.receive(videoFrame);
  expect(target.publications[0]!.packets.map(({ kind }) => kind)).toEqual(['video-config', 'video', 'video', 'video']);
});

it('does not keep more than a bounded amount of it', () => {
  const target = new MemoryTarget([KEY], () => new Promise(() => {}));
  const { session, state, statuses } = open({ target });
  session.receive(openingBytes(KEY));
  for (let count = 0; count <= 4096; count++) session.receive(videoFrame);
  expect(state.isClosed).toBe(true);
  expect(statuses().at(-1)![2]).toBe('The encoder has sent too much before it was accepted.');
});

it('ends a publication that is accepted when the encoder has gone', async () => {
  let accept = (): void => {};
  const target = new MemoryTarget([KEY], () => new Promise((resolve) => (accept = resolve)));
  const { session } = open({ target });
  session.receive(openingBytes(KEY));
  session.closed('gone');
  accept();
  await decided();
  expect(target.publications[0]!.endReason).toBe('The connection has ended.');
});

it('ends the publication once, with the first reason', async () => {
  const target = new MemoryTarget([KEY]);
  const { session, state, statuses } = open({ target });
  session.receive(openingBytes(KEY));
  await decided();
  target.publications[0]!.request.disconnect('The stream is disabled.');
  session.close('The server is stopping.');
  session.closed('gone');
  session.receive(videoFrame);
  expect(target.publications[0]).toMatchObject({ endReason: 'The stream is disabled.', packets: [] });
  expect(state.isClosed).toBe(true);
  expect(statuses().at(-1)).toEqual(['error', 'NetStream.Publish.Denied', 'The stream is disabled.']);
});

it('lets an encoder publish again', async () => {
  const target = new MemoryTarget([KEY]);
  const { session, state } = open({ target });
  session.receive(openingBytes(KEY));
  await decided();
  session.receive(Buffer.concat([videoConfig, commandBytes('FCUnpublish', 4, null, KEY)]));
  session.receive(commandBytes('deleteStream', 5, null, 1));
  expect(target.publications[0]!.endReason).toBe('The encoder has ended the stream.');
  session.receive(videoFrame);
  session.receive(commandBytes('publish', 6, null, KEY, 'live'));
  await decided();
  session.receive(videoConfig);
  expect(target.publications.map(({ packets }) => packets.length)).toEqual([1, 1]);
  // The first publication can't end the second one.
  target.publications[0]!.request.disconnect('late');
  expect(state.isClosed).toBe(false);
});

it.each([
  ['unknown_key', 'NetStream.Publish.BadName'],
  ['in_use', 'NetStream.Publish.BadName'],
  ['disabled', 'NetStream.Publish.BadName'],
  ['rate_limited', 'NetStream.Publish.Denied'],
  ['unavailable', 'NetStream.Publish.Denied'],
] as const)('tells the encoder of the refusal %s', async (reason, code) => {
  const { session, state, statuses } = open({ target: { publish: async () => ({ reason, message: 'Because.' }) } });
  session.receive(openingBytes(KEY));
  await decided();
  expect(statuses()).toEqual([['error', code, 'Because.']]);
  expect(state.isClosed).toBe(true);
});

it('looks up no more keys after too many wrong ones', async () => {
  const target = new MemoryTarget([KEY]);
  const { session, failedKeys, statuses } = open({ target, failedKeyLimit: 1 });
  failedKeys.add('192.0.2.1');
  session.receive(openingBytes(KEY));
  await decided();
  expect(target.publications).toEqual([]);
  expect(statuses()).toEqual([
    ['error', 'NetStream.Publish.Denied', 'Too many wrong stream keys; try again in a minute.'],
  ]);
});

it('closes the connection when the key can not be looked up, and says no key', async () => {
  const error = new Error('no database');
  const { session, state, statuses, logger } = open({ target: { publish: () => Promise.reject(error) } });
  session.receive(openingBytes(KEY));
  await decided();
  expect(state.isClosed).toBe(true);
  expect(statuses()[0]![2]).toBe('The server has failed; try again.');
  expect(logger.lines.map(({ level }) => level)).toEqual(['error', 'info']);
  expect(JSON.stringify(logger.lines)).not.toContain(KEY);
});

it('refuses players', () => {
  const { session, statuses } = open();
  session.receive(Buffer.concat([handshakeBytes, commandBytes('play', 1, null, KEY)]));
  expect(statuses()[0]!.slice(0, 2)).toEqual(['error', 'NetStream.Play.Failed']);
});

it('closes a connection that does not publish in time, whatever it sends', () => {
  const { session, state } = open();
  session.receive(handshakeBytes);
  state.nowMs = 9999;
  session.receive(commandBytes('connect', 1, { app: 'app' }));
  session.checkTimeout();
  expect(state.isClosed).toBe(false);
  state.nowMs = 10_000;
  session.checkTimeout();
  expect(state.isClosed).toBe(true);
});

it('closes a publisher that sends no complete message for a while', async () => {
  const target = new MemoryTarget([KEY]);
  const { session, state } = open({ target });
  session.receive(openingBytes(KEY));
  await decided();
  state.nowMs = 20_000;
  session.receive(videoConfig);
  state.nowMs = 24_999;
  session.receive(videoFrame.subarray(0, 15));
  session.checkTimeout();
  expect(state.isClosed).toBe(false);
  state.nowMs = 25_000;
  session.checkTimeout();
  expect(target.publications[0]!.endReason).toBe('The encoder has stopped sending.');
});

/** Two turns of the event loop, in which nothing arrives. */
const quiet = async () => {
  await decided();
  await decided();
};
const acknowledgements = (messages: readonly RtmpMessage[]) =>
  messages.flatMap(({ typeId, payload }) => (typeId === 3 ? [payload.readUInt32BE(0)] : []));

it('answers pings, and acknowledges what it receives', async () => {
  const { session, responses } = open();
  session.receive(openingBytes(KEY));
  await decided();
  session.receive(chunksOf({ typeId: 5, payload: Buffer.from('00002710', 'hex') }, { chunkStream: 2 }));
  session.receive(chunksOf({ typeId: 4, payload: Buffer.from('000600000539', 'hex') }, { chunkStream: 2 }));
  session.receive(chunksOf({ typeId: 9, payload: Buffer.alloc(10_000, 0x27), streamId: 1 }));
  await quiet();
  const after = responses().slice(-2);
  expect(after.map(({ typeId }) => typeId)).toEqual([4, 3]);
  expect(after[0]!.payload.toString('hex')).toBe('000700000539');
  expect(after[1]!.payload.readUInt32BE(0)).toBeGreaterThan(10_000);
});

it('acknowledges nothing while there is more to read', async () => {
  const { session, responses } = open();
  session.receive(openingBytes(KEY));
  await decided();
  const frame = chunksOf({ typeId: 9, payload: Buffer.alloc(1_000_000, 0x27), streamId: 1 });
  for (let turn = 0; turn < 5; turn++) {
    session.receive(frame);
    await decided();
  }
  expect(acknowledgements(responses())).toEqual([]);
  await quiet();
  expect(acknowledgements(responses())).toEqual([openingBytes(KEY).length + 5 * frame.length]);
});

it('acknowledges what arrived while the key was looked up', async () => {
  let accept = (): void => {};
  const { session, responses } = open({
    target: new MemoryTarget([KEY], () => new Promise((resolve) => (accept = resolve))),
  });
  session.receive(openingBytes(KEY));
  session.receive(chunksOf({ typeId: 9, payload: Buffer.alloc(2_500_000, 0x27), streamId: 1 }));
  await quiet();
  expect(acknowledgements(responses())).toEqual([]);
  accept();
  await quiet();
  await decided();
  expect(acknowledgements(responses())).toHaveLength(1);
});

it.each([
  ['HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  ['encrypted RTMP', Buffer.alloc(1537, 6)],
  ['a message that is too long for strangers', chunksOf({ typeId: 20, payload: Buffer.alloc(65_537) })],
  ['a command that is no AMF0', chunksOf({ typeId: 20, payload: Buffer.alloc(5, 0xff) })],
])('closes the connection on: %s', (name, bytes) => {
  const { session, state, logger } = open();
  session.receive(name.startsWith('a ') ? Buffer.concat([handshakeBytes, bytes]) : bytes);
  expect(state.isClosed).toBe(true);
  expect(logger.lines.some(({ level }) => level === 'error')).toBe(false);
});

import { expect, it } from 'vitest';
import { buildAvcc } from '../../media/codecs/avc.js';
import { Muxer } from '../../media/transport/muxer.js';
import { cryptPayload } from './key-material.js';
import { CONTROL, KEY, readPacket, writeControl, writeData } from './packets.js';
import { SrtSession } from './srt-session.js';

it.each([
  ['when the encoder ends it', true, ['video-config', 'video']],
  ['unless the connection breaks off', false, []],
] as const)('the last frame ends with the stream %s', (_name, isEnded, expected) => {
  const kinds: string[] = [];
  const logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => logger };
  const [even, salt] = [Buffer.alloc(16, 1), Buffer.alloc(16, 7)];
  const session = new SrtSession({
    ...{ peer: '127.0.0.1', send() {}, onEnd() {}, logger, clock: { now: () => new Date(0), monotonicMs: () => 0 } },
    publication: { liveStreamId: 'live', write: ({ kind }) => void kinds.push(kind), end() {} },
    connection: {
      ...{ peerSocketId: 1, initialSequence: 0, latencyMs: 120, readKeys: () => undefined },
      keys: { salt, even },
    },
  });
  const muxer = new Muxer();
  muxer.setVideo('avc', buildAvcc([Buffer.from('6742c01eda0505e4', 'hex')], [Buffer.from('68ce3c80', 'hex')]));
  const frame = muxer.video(Buffer.of(0, 0, 0, 2, 0x65, 1), true, { dts: 0, pts: 0 });
  const payload = cryptPayload(even, salt, 0, Buffer.from(frame));
  const fields = {
    sequence: 0,
    keyFlag: KEY.even,
    timestamp: 0,
    socketId: 1,
    messageNumber: 1,
    isRetransmitted: false,
  };
  session.receive(readPacket(writeData({ ...fields, payload }))!);
  if (isEnded) session.receive(readPacket(writeControl({ type: CONTROL.shutdown, timestamp: 0, socketId: 1 }))!);
  else session.close('It is disabled.');
  expect(kinds).toEqual(expected);
});

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildAvcc } from '#kinora/media/codecs/avc.js';
import { fixture } from '../support/media/fixtures.js';
import { mediaPlaylists, segmentsOf } from '../support/players/play.js';
import type { Publisher } from '../support/processes/publisher.js';
import { isContinuous, LiveStation, type WireLiveStream } from '../support/servers/live-station.js';
import type { Origin } from '../support/servers/origin.js';
import { cleanUpServers, until } from '../support/servers/server-process.js';
import { api, createAsset, getAsset, serveFiles, settled } from '../support/wire/create-asset.js';
import { chunksOf, openingBytes } from '../support/wire/rtmp-bytes.js';

const MIB = 2 ** 20;
const CHUNK_SIZE = 65_536;
const [VIDEO, AUDIO] = [9, 8] as const;
/** 320 × 176, Baseline; the level makes configurations differ. */
const avcc = (level = 30): Uint8Array => {
  const sequence = Buffer.from('6742c01eda0505e4', 'hex');
  sequence[3] = level;
  return buildAvcc([sequence], [Buffer.from('68ce3c80', 'hex')]);
};

/** Sends what it is told, as fast as the server takes it, until that closes the connection. */
class Encoder {
  readonly socket: Socket;
  isClosed = false;
  #answers = '';
  #sent = 0;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      this.#answers += data.toString('latin1');
    });
    socket.on('close', () => {
      this.isClosed = true;
    });
  }

  static async open(port: number, { stream_key: key }: WireLiveStream): Promise<Encoder> {
    const socket = connect(port, '127.0.0.1');
    const encoder = new Encoder(socket);
    await once(socket, 'connect');
    const size = Buffer.alloc(4);
    size.writeUInt32BE(CHUNK_SIZE);
    socket.write(Buffer.concat([openingBytes(key), chunksOf({ typeId: 1, payload: size })]));
    await until('it is answered', () => encoder.said('NetStream.Publish') || encoder.isClosed);
    return encoder;
  }

  said(text: string): boolean {
    return this.#answers.includes(text);
  }

  config(record = avcc()): Promise<void> {
    return this.send(VIDEO, 0, [0x17, 0, 0, 0, 0], record);
  }

  frame(timestamp: number, { isKey = false, bytes = 60 } = {}): Promise<void> {
    return this.send(VIDEO, timestamp, [isKey ? 0x17 : 0x27, 1, 0, 0, 0], Buffer.alloc(bytes, 1));
  }

  async send(typeId: number, timestamp: number, head: readonly number[], body: Uint8Array): Promise<void> {
    if (this.isClosed) return;
    const payload = Buffer.concat([Uint8Array.from(head), body]);
    const bytes = chunksOf({ typeId, payload, timestamp, streamId: 1 }, { chunkSize: CHUNK_SIZE, chunkStream: 6 });
    if (!this.socket.write(bytes))
      await Promise.race([once(this.socket, 'drain'), once(this.socket, 'close')]).catch(() => undefined);
    // Writes alone may never end this turn, and the reason of the server would not be read in time.
    else if (++this.#sent % 100 > 0) return;
    await nextTurn();
  }

  /** The server has closed the connection. */
  async closed(): Promise<void> {
    await until('the connection is closed', () => this.isClosed);
  }
}

describe('encoders that harm nobody else', () => {
  let station: LiveStation;
  let origin: Origin;
  let healthy: WireLiveStream;
  let publisher: Publisher;
  let vodSegments: string[];
  /** What was not as it should be for those who watch. */
  const problems: string[] = [];
  let isWatching = true;
  let watching: Promise<unknown>;

  beforeAll(async () => {
    origin = await serveFiles([await fixture('h264-aac.mp4')]);
    station = await LiveStation.open();
    const body = { inputs: [{ url: `${origin.url}/0` }], playback_policies: ['public'] };
    const vod = await settled(station.server, (await createAsset(station.server, body)).id);
    const [playlist] = await mediaPlaylists(station.server.url, vod.playback_ids![0]!.id);
    vodSegments = await segmentsOf(playlist!);
    healthy = await station.create();
    publisher = station.publish(healthy, { loops: true });
    await station.untilActive(healthy);
    watching = Promise.all([watch(() => station.playlistUrl(healthy.playback_ids[0]!.id)), watch(nextVodSegment)]);
  });
  afterAll(async () => {
    isWatching = false;
    station?.close();
    await cleanUpServers();
    await origin?.stop();
  });

  let vodRequests = 0;
  const nextVodSegment = (): string => vodSegments[vodRequests++ % vodSegments.length]!;
  const watch = async (nextUrl: () => string): Promise<void> => {
    for (; isWatching; await pause(200)) {
      const url = nextUrl();
      const response = await fetch(url);
      await response.arrayBuffer();
      if (response.status !== 200) problems.push(`${response.status} ${url}`);
    }
  };

  const residentMib = (): number => {
    const status = readFileSync(`/proc/${station.server.process.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024;
  };
  const complete = ({ id }: WireLiveStream): Promise<Response> =>
    api(station.server, 'PUT', `/video/v1/live-streams/${id}/complete`);
  const open = async (): Promise<{ stream: WireLiveStream; encoder: Encoder }> => {
    const stream = await station.create();
    return { stream, encoder: await Encoder.open(station.rtmpPort, stream) };
  };
  const untilTold = (stream: WireLiveStream, name: string): Promise<void> =>
    until(`${name} is told`, async () => (await station.told(stream.id)).includes(name));

  it('whose times go forward and backward with each frame', async () => {
    const { stream, encoder } = await open();
    await encoder.config();
    for (let frame = 0; frame < 20_000 && !encoder.isClosed; frame++)
      await encoder.frame(frame % 2 === 0 ? frame : frame + 60_000, { isKey: true });
    await encoder.closed();
    expect(encoder.said('again and again')).toBe(true);
    await untilTold(stream, 'idle');
    const told = await station.told(stream.id);
    expect(told.filter((name) => name === 'warning')).toHaveLength(1);
    expect(told.length).toBeLessThan(9);
    const [assetId] = (await station.retrieve(stream)).recent_asset_ids!;
    const { playback_ids: ids } = await getAsset(station.server, assetId!);
    expect((await station.segments(ids![0]!.id)).length).toBeLessThan(600);
  });

  it('that sends a thousand configurations', async () => {
    const { stream, encoder } = await open();
    for (let change = 0; change < 1000 && !encoder.isClosed; change++) {
      await encoder.config(Buffer.concat([avcc(), Buffer.alloc(2, change), Buffer.from([change >> 8])]));
      await encoder.frame(change * 33, { isKey: true });
    }
    await encoder.closed();
    expect(encoder.said('again and again')).toBe(true);
    await untilTold(stream, 'idle');
    expect((await station.told(stream.id)).length).toBeLessThan(9);
  });

  it('that sends configurations only: there is no asset', async () => {
    const { stream, encoder } = await open();
    for (let change = 0; change < 40_000 && !encoder.isClosed; change++)
      await encoder.config(Buffer.concat([avcc(), Buffer.alloc(1000, change)]));
    await encoder.closed();
    await untilTold(stream, 'disconnected');
    expect(await station.retrieve(stream)).not.toHaveProperty('recent_asset_ids');
  });

  it('that sends no key frame, and ends: its asset is an error', async () => {
    const { stream, encoder } = await open();
    await encoder.config();
    for (let frame = 0; frame < 1000; frame++) await encoder.frame(frame * 33);
    await untilTold(stream, 'recording');
    const assetId = (await station.retrieve(stream)).active_asset_id!;
    encoder.socket.destroy();
    await untilTold(stream, 'disconnected');
    await complete(stream);
    const asset = await settled(station.server, assetId);
    expect(asset.errors?.messages).toEqual(['The broadcast ended before anything was recorded.']);
  });

  it('that stops in the middle of a message, and that lies about its size', async () => {
    const { encoder } = await open();
    await encoder.config();
    await encoder.frame(0, { isKey: true });
    const whole = chunksOf({ typeId: AUDIO, payload: Buffer.alloc(5000), streamId: 1 }, { chunkSize: CHUNK_SIZE });
    encoder.socket.write(whole.subarray(0, 100));
    const { encoder: liar } = await open();
    // A header with a size of 16 MiB less one byte.
    liar.socket.write(Buffer.from([0x06, 0, 0, 0, 0xff, 0xff, 0xff, VIDEO, 1, 0, 0, 0]));
    await liar.closed();
    await encoder.closed();
    expect(encoder.said('stopped sending')).toBe(true);
  });

  it('that sends gigabytes while its clock stands still: memory is bounded', async () => {
    const beforeMib = residentMib();
    const { encoder } = await open();
    await encoder.config();
    let sentMib = 0;
    let mostMib = 0;
    for (; sentMib < 3000 && !encoder.isClosed; sentMib += 4) {
      await encoder.frame(1, { isKey: sentMib === 0, bytes: 4 * MIB });
      mostMib = Math.max(mostMib, residentMib());
    }
    await encoder.closed();
    expect(sentMib).toBeLessThan(1500);
    expect(mostMib - beforeMib).toBeLessThan(700);
  });

  it('that connects a hundred times in its reconnect window: events are bounded', async () => {
    const stream = await station.create();
    let refused = 0;
    for (let connection = 0; connection < 100; connection++) {
      const encoder = await Encoder.open(station.rtmpPort, stream);
      if (encoder.said('connects too often')) refused += 1;
      else {
        await encoder.config();
        await encoder.frame(0, { isKey: true });
      }
      encoder.socket.destroy();
    }
    expect(refused).toBeGreaterThanOrEqual(30);
    await until('the last connection has ended', async () => (await station.told(stream.id)).at(-1) === 'disconnected');
    const response = await api(station.server, 'GET', `/system/v1/events?object_id=${stream.id}&limit=100`);
    expect(((await response.json()) as { data: unknown[] }).data.length).toBeLessThanOrEqual(100);
    await complete(stream);
  });

  it('and all the time others send, watch and play', async () => {
    isWatching = false;
    await watching;
    expect(problems).toEqual([]);
    expect(vodRequests).toBeGreaterThan(10);
    expect(publisher.process.exitCode).toBeNull();
    publisher.process.kill();
    await publisher.output;
    const assetId = (await station.retrieve(healthy)).active_asset_id!;
    await complete(healthy);
    const counters = await station.counters(await station.untilPlanned(assetId));
    expect(counters.length).toBeGreaterThan(300);
    expect(isContinuous(counters)).toBe(true);
    expect(await station.told(healthy.id)).not.toContain('warning');
    expect(await station.server.stop()).toBe(0);
  });
});

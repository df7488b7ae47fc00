import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { writeMedia } from '../media/fixture-media.js';
import { counterOf, readRgbFrames } from '../media/measure.js';
import { parseLivePlaylist } from '../players/live-playlist.js';
import { playThrough } from '../players/play-through.js';
import { type Publisher, startPublisher } from '../processes/publisher.js';
import { api, getAsset, type WireAsset } from '../wire/create-asset.js';
import { eventTypes } from '../wire/events.js';
import { freePort } from './free-port.js';
import { makeDataDir, type ServerProcess, startServer, until } from './server-process.js';

/** Of the file that encoders send: a counter in each frame, a key frame every second. */
export const SESSION_FRAMES = 180;

export interface WireLiveStream {
  readonly id: string;
  readonly stream_key: string;
  readonly status: string;
  readonly active_asset_id?: string;
  readonly recent_asset_ids?: readonly string[];
  readonly playback_ids: readonly { readonly id: string }[];
}

interface StationOptions {
  readonly dataDir?: string;
  /** Variables without the `KINORA_` prefix. */
  readonly options?: Readonly<Record<string, string>>;
  /** Of the video that encoders send, in Mb/s; by default, what the picture needs. */
  readonly megabits?: number;
}

interface PublishOptions {
  readonly loops?: boolean | number;
  readonly path?: string;
  /** Instead of that of the server. */
  readonly port?: number;
  /** Instead of RTMP to a port. */
  readonly url?: string;
}

/** A server that receives live streams, as a process, with encoders that send to it. */
export class LiveStation {
  server!: ServerProcess;
  readonly dataDir: string;
  readonly #dir = mkdtempSync(join(tmpdir(), 'kinora-station-'));
  readonly #file = join(this.#dir, 'session.flv');
  readonly #options: Readonly<Record<string, string>>;
  readonly #publishers: Publisher[] = [];

  private constructor({ dataDir = makeDataDir(), options = {}, megabits }: StationOptions, rtmpPort: number) {
    this.dataDir = dataDir;
    this.#options = { LIVE_RUNGS: '0', ...options, RTMP_PORT: String(rtmpPort) };
    writeMedia(
      {
        muxer: 'flv',
        seconds: SESSION_FRAMES / 30,
        video: {
          encoder: 'libx264',
          width: 320,
          height: 180,
          rate: [30, 1],
          gop: 30,
          bFrames: 0,
          options: { preset: 'veryfast', ...rateOf(megabits) },
        },
        audio: { encoder: 'aac', sampleRate: 48_000, channels: 2, bitRate: 96_000 },
      },
      this.#file,
    );
  }

  /** `cleanUpServers` ends the server. */
  static async open(options: StationOptions = {}): Promise<LiveStation> {
    const station = new LiveStation(options, await freePort());
    await station.start();
    return station;
  }

  /** Again, after the server was killed or stopped. */
  async start(): Promise<void> {
    this.server = await startServer({ dataDir: this.dataDir, options: this.#options });
  }

  close(): void {
    for (const { process } of this.#publishers) process.kill('SIGKILL');
    rmSync(this.#dir, { recursive: true, force: true });
  }

  /** What encoders send. */
  get file(): string {
    return this.#file;
  }

  get rtmpPort(): number {
    return Number(this.#options.RTMP_PORT);
  }

  /** With stream key and passphrase, as the console shows it. */
  async srtUrl({ id }: Pick<WireLiveStream, 'id'>): Promise<string> {
    const response = await api(this.server, 'GET', `/console/api/live-streams/${id}`);
    return ((await response.json()) as { data: { srt_url: string } }).data.srt_url;
  }

  async create(body: object = {}): Promise<WireLiveStream> {
    const settings = { playback_policies: ['public'], new_asset_settings: { playback_policies: ['public'] } };
    const defaults = { latency_mode: 'low', reconnect_window: 120, ...settings };
    const response = await api(this.server, 'POST', '/video/v1/live-streams', { ...defaults, ...body });
    expect(response.status).toBe(201);
    return ((await response.json()) as { data: WireLiveStream }).data;
  }

  async retrieve({ id }: Pick<WireLiveStream, 'id'>): Promise<WireLiveStream> {
    const response = await api(this.server, 'GET', `/video/v1/live-streams/${id}`);
    return ((await response.json()) as { data: WireLiveStream }).data;
  }

  /** Sends a file, or its own, in real time, again and again or so often more with `loops`. */
  publish(
    { stream_key: key }: Pick<WireLiveStream, 'stream_key'>,
    {
      loops = false,
      path = this.#file,
      port = this.rtmpPort,
      url = `rtmp://127.0.0.1:${port}/app/${key}`,
    }: PublishOptions = {},
  ): Publisher {
    const loop = loops === false ? [] : ['-stream_loop', loops === true ? '-1' : String(loops)];
    const publisher = startPublisher(url, ['-re', ...loop, '-i', path, '-c', 'copy']);
    this.#publishers.push(publisher);
    return publisher;
  }

  /** So often the server has read an encoder to its end. */
  async #endedSessions({ id }: Pick<WireLiveStream, 'id'>): Promise<number> {
    return (await this.told(id)).filter((name) => name === 'disconnected').length;
  }

  /** Runs an encoder until it ends; a busy server has read all of it later. */
  async untilRead(stream: WireLiveStream, run: () => Pick<Publisher, 'output'>): Promise<void> {
    const before = await this.#endedSessions(stream);
    await run().output;
    await until('the session has ended', async () => (await this.#endedSessions(stream)) > before);
  }

  /** Sends its file once. The ID of the asset. */
  async sendAll(stream: WireLiveStream): Promise<string> {
    await this.untilRead(stream, () => this.publish(stream));
    return (await this.retrieve(stream)).active_asset_id!;
  }

  /** The playback ID of a recording: its playlist keeps all segments, others half a minute. */
  async recordingId(assetId: string): Promise<string> {
    return (await getAsset(this.server, assetId)).playback_ids![0]!.id;
  }

  /** The ID of its asset, once viewers can play it. */
  async untilActive(stream: WireLiveStream): Promise<string> {
    await until('the live stream is active', async () => (await this.retrieve(stream)).status === 'active');
    return (await this.retrieve(stream)).active_asset_id!;
  }

  /** The playlist of the copied video. */
  playlistUrl(playbackId: string): string {
    return `${this.server.url}/${playbackId}/live/270p/playlist.m3u8`;
  }

  /** Those with what encoders sent; between sessions there are others, of the slate. */
  async segments(playbackId: string): Promise<string[]> {
    const response = await fetch(this.playlistUrl(playbackId));
    if (response.status !== 200) return [];
    const { segments } = parseLivePlaylist(await response.text());
    return segments.flatMap(({ uri, map }) => (uri !== undefined && map === segments[0]!.map ? [uri] : []));
  }

  async untilSegments(playbackId: string, count: number): Promise<void> {
    await until(`${count} segments`, async () => (await this.segments(playbackId)).length >= count);
  }

  /** The asset when its recording is planned. */
  async untilPlanned(assetId: string): Promise<WireAsset> {
    const isPlanned = async () => (await this.told(assetId)).includes('live_stream_completed');
    await until('the recording is planned', isPlanned).catch(async (error: unknown) => {
      // What the server has told and logged says why.
      const told = await this.told(assetId);
      throw new Error(`told ${told.join()}; log:\n${this.server.logText().slice(-20_000)}`, { cause: error });
    });
    return getAsset(this.server, assetId);
  }

  /** Types of events about a live stream or an asset, in their order. */
  async told(id: string): Promise<string[]> {
    return (await eventTypes(this.server, id)).map((type) => type.replace('video.live_stream.', ''));
  }

  /** The counters of the frames that encoders sent, as the finished asset plays them. */
  async counters({ playback_ids: ids }: WireAsset): Promise<number[]> {
    const { variants } = await playThrough(`${this.server.url}/${ids![0]!.id}.m3u8`);
    const { init, segments } = variants.at(-1)!;
    return readRgbFrames([init, ...segments.map(({ bytes }) => bytes)]).flatMap((frame) => counterOf(frame) ?? []);
  }
}

const X264 = 'scenecut=0:open-gop=0:threads=1';

/** With filler in place of what the picture does not need. */
const rateOf = (megabits: number | undefined): Record<string, string> =>
  megabits === undefined
    ? { crf: '30', 'x264-params': X264 }
    : { b: `${megabits}M`, maxrate: `${megabits}M`, bufsize: `${megabits}M`, 'x264-params': `${X264}:nal-hrd=cbr` };

/** Counters that follow each other, over repetitions of the file. */
export const isContinuous = (counters: readonly number[]): boolean =>
  counters.every((counter, at) => at === 0 || counter === (counters[at - 1]! + 1) % SESSION_FRAMES);

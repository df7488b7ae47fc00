import { type AacFrame, AdtsFrames } from '../../media/transport/adts-frames.js';
import { readByteStreamFrame } from '../../media/transport/byte-stream-frames.js';
import { Demuxer } from '../../media/transport/demuxer.js';
import type { PesPacket } from '../../media/transport/pes-reader.js';
import type { ChosenStreams, VideoCodec } from '../../media/transport/stream-types.js';
import { TransportClock, timestampDistance } from '../../media/transport/transport-clock.js';
import type { IngestPacket } from '../ingest.js';

const TICKS_PER_MS = 90;
/** Of an SRT packet: seven fill the usual 1,316 bytes. */
const TRANSPORT_PACKETS = 7;
/** Anything but a transport stream is refused after so much. */
const MAX_SKIPPED_BYTES = 256 * 1024;

/** Turns the transport stream of one publication into packets. */
export class TransportReader {
  readonly #onPacket: (packet: IngestPacket) => void;
  readonly #demuxer = new Demuxer({
    streams: (streams) => this.#setStreams(streams),
    packet: (codec, packet, isAfterLoss) =>
      codec === 'aac' ? this.#readAudio(packet, isAfterLoss) : this.#readVideo(codec, packet, isAfterLoss),
  });
  readonly #clock = new TransportClock();
  readonly #audio = new AdtsFrames();
  #videoRecord: Uint8Array | undefined;
  #audioRecord: Uint8Array | undefined;
  /** After a loss, frames until the next key frame can't be decoded without fault. */
  #needsKey = true;
  #problem: string | undefined;

  constructor(onPacket: (packet: IngestPacket) => void) {
    this.#onPacket = onPacket;
  }

  /**
   * @param bytes held by nobody else
   * @returns what to change in the encoder, if it sends what can't be recorded
   */
  push(bytes: Uint8Array): string | undefined {
    this.#demuxer.push(bytes);
    if (this.#demuxer.skippedBytes > MAX_SKIPPED_BYTES)
      return 'The encoder sends no MPEG transport stream. Set its format to MPEG-TS.';
    return this.#problem;
  }

  /** So many packets of the connection are missing before the next bytes. */
  lose(packets: number): void {
    this.#demuxer.lose(packets * TRANSPORT_PACKETS);
  }

  /** The last frame of video ends with the stream. */
  flush(): void {
    this.#demuxer.flush();
  }

  #setStreams({ video, audio, unreadableVideo, unreadableAudio }: ChosenStreams): void {
    if (unreadableVideo !== undefined)
      this.#problem = `The video codec is ${unreadableVideo}. Set the video encoder to H.264 or HEVC.`;
    else if (unreadableAudio !== undefined)
      this.#problem = `The audio codec is ${unreadableAudio}. Set the audio encoder to AAC.`;
    else if (!video && !audio) this.#problem = 'The encoder sends neither video nor audio.';
  }

  #readVideo(codec: VideoCodec, { pts, dts, data }: PesPacket, isAfterLoss: boolean): void {
    if (isAfterLoss) this.#needsKey = true;
    if (pts === undefined || dts === undefined) return;
    const frame = readByteStreamFrame(codec, data);
    const { record } = frame;
    if (record && !isSame(record, this.#videoRecord)) {
      this.#videoRecord = record;
      this.#onPacket({ kind: 'video-config', config: { codec, record } });
    }
    const ticks = this.#clock.unwrap(dts);
    if (frame.data.length === 0 || (this.#needsKey && !frame.isKey)) return;
    this.#needsKey = false;
    this.#onPacket({
      kind: 'video',
      dtsMs: ticks / TICKS_PER_MS,
      compositionMs: timestampDistance(dts, pts) / TICKS_PER_MS,
      isKey: frame.isKey,
      data: frame.data,
    });
  }

  #readAudio({ pts, data }: PesPacket, isAfterLoss: boolean): void {
    if (isAfterLoss) this.#audio.lose();
    const frames = this.#audio.push(data, pts === undefined ? undefined : this.#clock.unwrap(pts));
    if (typeof frames === 'string') this.#problem ??= frames;
    else for (const frame of frames) this.#writeAudio(frame);
  }

  #writeAudio({ ticks, record, data }: AacFrame): void {
    if (!isSame(record, this.#audioRecord)) {
      this.#audioRecord = record;
      this.#onPacket({ kind: 'audio-config', config: { codec: 'aac', record } });
    }
    this.#onPacket({ kind: 'audio', dtsMs: ticks / TICKS_PER_MS, data });
  }
}

const isSame = (record: Uint8Array, last: Uint8Array | undefined): boolean =>
  last !== undefined && Buffer.compare(record, last) === 0;

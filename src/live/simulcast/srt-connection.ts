import type { Clock } from '../../lib/clock.js';
import { Muxer } from '../../media/transport/muxer.js';
import { PACKET_BYTES } from '../../media/transport/packet-reader.js';
import type { ConnectionOpener, DatagramChannel } from '../../net/open-connection.js';
import { readAudioTag, readVideoTag } from '../rtmp/flv-tags.js';
import { TimestampUnwrapper } from '../rtmp/timestamp-unwrapper.js';
import { readPacket } from '../srt/packets.js';
import { SrtCaller } from '../srt/srt-caller.js';
import { SrtSender } from '../srt/srt-sender.js';
import { type ConnectionFailure, failureOf } from './connection-failure.js';
import type { Message } from './send-queue.js';
import type { SrtDestination } from './srt-destination.js';
import type { TargetConnection } from './target-connection.js';
import { untilAccepted } from './until-accepted.js';

/** From the first handshake to the last one. */
const ACCEPT_MS = 5000;
/** A service that takes nothing for so long is away. */
const STALL_MS = 10_000;
/** How long the last packets may take. */
const CLOSE_MS = 2000;
const TICK_MS = 10;
/** As many as fit into an IP packet. */
const PAYLOAD_BYTES = 7 * PACKET_BYTES;
const TICKS_PER_MS = 90;

/** Sends a stream to a service by SRT, as an MPEG transport stream. */
export class SrtConnection implements TargetConnection {
  readonly lost: Promise<ConnectionFailure>;
  onDrain: () => void = () => undefined;
  readonly #clock: Clock;
  readonly #stallMs: number;
  readonly #caller: SrtCaller;
  readonly #accepted: Promise<void>;
  readonly #muxer = new Muxer();
  readonly #times = new TimestampUnwrapper();
  readonly #timer: NodeJS.Timeout;
  #accept: () => void = () => undefined;
  #lose: (failure: ConnectionFailure) => void = () => undefined;
  #sender: SrtSender | undefined;
  #parts: Uint8Array[] = [];
  #bytes = 0;
  /** Since when nothing can be sent. */
  #blockedMs: number | undefined;
  #isClosing = false;

  private constructor(channel: DatagramChannel, { call }: SrtDestination, clock: Clock, stallMs: number) {
    this.#clock = clock;
    this.#stallMs = stallMs;
    this.lost = new Promise((resolve) => {
      let isLost = false;
      this.#lose = (failure) => {
        if (isLost) return;
        isLost = true;
        clearInterval(this.#timer);
        channel.close();
        resolve(failure);
      };
    });
    this.#accepted = new Promise((resolve) => {
      this.#accept = resolve;
    });
    const send = (packet: Buffer): void => channel.send(packet);
    this.#caller = new SrtCaller({
      ...{ call, clock, send },
      onAccepted: (accepted) => {
        const onEnd = (reason: 'ended' | 'silent'): void =>
          this.#lose({ code: reason === 'ended' ? 'closed' : 'stalled', kind: 'lost' });
        this.#sender = new SrtSender({ ...accepted, clock, send, onEnd });
        this.#accept();
      },
      onRefused: (code) => this.#lose({ code, kind: 'refused' }),
    });
    channel.onMessage = (bytes) => this.#receive(bytes);
    channel.onError = (error) => this.#lose(failureOf(error));
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /**
   * Calls the service.
   * @throws ConnectionError, or an error for `failureOf`, or the reason of `signal`
   */
  static async open(
    opener: ConnectionOpener,
    destination: SrtDestination,
    signal: AbortSignal,
    { clock, stallMs = STALL_MS }: { readonly clock: Clock; readonly stallMs?: number | undefined },
  ): Promise<SrtConnection> {
    const channel = await opener.openDatagrams(destination, signal);
    const connection = new SrtConnection(channel, destination, clock, stallMs);
    const attempt = { accepted: connection.#accepted, lost: connection.lost, lose: connection.#lose };
    await untilAccepted(attempt, { signal, limitMs: ACCEPT_MS });
    return connection;
  }

  get isBlocked(): boolean {
    return this.#isClosing || this.#sender?.isBlocked !== false;
  }

  send({ kind, timestamp, body }: Message): void {
    const tag = Buffer.from(body.buffer, body.byteOffset, body.length);
    if (kind === 'video-config' || kind === 'video') this.#sendVideo(tag, timestamp);
    else if (kind === 'audio-config' || kind === 'audio') this.#sendAudio(tag, timestamp);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const timer = setTimeout(() => this.#shutDown(), CLOSE_MS);
    await this.lost;
    clearTimeout(timer);
  }

  #sendVideo(body: Buffer, timestamp: number): void {
    const tag = readVideoTag(body);
    if (tag.kind === 'config') {
      if (tag.codec === 'av1' || !this.#muxer.setVideo(tag.codec, tag.record))
        this.#lose({ code: 'codec_not_supported', kind: 'forbidden' });
    } else if (tag.kind === 'frame') {
      const dts = this.#times.unwrap(timestamp) * TICKS_PER_MS;
      const pts = dts + tag.compositionMs * TICKS_PER_MS;
      this.#push(this.#muxer.video(tag.data, tag.isKey, { dts, pts }));
    }
  }

  #sendAudio(body: Buffer, timestamp: number): void {
    const tag = readAudioTag(body);
    if (tag.kind === 'config') {
      if (!this.#muxer.setAudio(tag.record)) this.#lose({ code: 'codec_not_supported', kind: 'forbidden' });
    } else if (tag.kind === 'frame')
      this.#push(this.#muxer.audio(tag.data, this.#times.unwrap(timestamp) * TICKS_PER_MS));
  }

  #push(packets: Uint8Array): void {
    this.#parts.push(packets);
    this.#bytes += packets.length;
    if (this.#bytes < PAYLOAD_BYTES) return;
    const bytes = Buffer.concat(this.#parts.splice(0));
    let at = 0;
    for (; at + PAYLOAD_BYTES <= bytes.length; at += PAYLOAD_BYTES)
      this.#sender?.write(bytes.subarray(at, at + PAYLOAD_BYTES));
    this.#parts = [bytes.subarray(at)];
    this.#bytes = bytes.length - at;
  }

  #receive(bytes: Buffer): void {
    const packet = readPacket(bytes);
    if (!packet) return;
    if (this.#sender) this.#sender.receive(packet);
    else if (packet.kind === 'control') this.#caller.receive(packet);
  }

  #tick(): void {
    this.#caller.tick();
    const sender = this.#sender;
    if (!sender) return;
    sender.tick();
    // What does not fill a packet waits no longer.
    if (this.#bytes > 0) {
      sender.write(Buffer.concat(this.#parts.splice(0)));
      this.#bytes = 0;
    }
    if (this.#isClosing && sender.isDelivered) this.#shutDown();
    if (this.#isClosing) return;
    const nowMs = this.#clock.monotonicMs();
    if (!sender.isBlocked) {
      this.#blockedMs = undefined;
      this.onDrain();
      return;
    }
    this.#blockedMs ??= nowMs;
    if (nowMs - this.#blockedMs >= this.#stallMs) this.#lose({ code: 'stalled', kind: 'lost' });
  }

  #shutDown(): void {
    this.#sender?.close();
    this.#lose({ code: 'closed', kind: 'lost' });
  }
}

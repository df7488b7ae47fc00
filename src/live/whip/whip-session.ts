import { RTCPeerConnection, type RTCRtpTransceiver, type RtcpPacket, RtcpSrPacket, useH264, useOPUS } from 'werift';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import type { MediaPool } from '../../pool/media-pool.js';
import type { Logger } from '../../telemetry/logger.js';
import type { IngestPacket, Publication } from '../ingest.js';
import { H264Frames } from './h264-frames.js';
import { AAC_CONFIG, OpusToAac } from './opus-to-aac.js';
import { RtpClock } from './rtp-clock.js';
import { RtpOrder, type RtpUnit } from './rtp-order.js';

export interface WhipSessionDeps {
  readonly pool: Pick<MediaPool, 'open'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Addresses of this machine to listen on, beside those of its network interfaces. */
  readonly hostAddresses: readonly string[];
  /** Addresses that lead to this machine, of a NAT for example. */
  readonly outerAddresses: readonly string[];
  /** UDP ports; absent: any that is free. */
  readonly ports?: readonly [number, number] | undefined;
}

/** Segments begin with key frames, which browsers send only when they are asked. */
const KEY_FRAME_MS = 2000;
/** Browsers send their first report within a second. */
const REPORT_MS = 2000;
const CONNECT_MS = 15_000;
/** Without a packet for so long, the connection is dead. */
const IDLE_MS = 10_000;
const CHECK_MS = 500;
/** What waits for the first reports. */
const MAX_HELD = 5000;

type Kind = 'video' | 'audio';
const RATES = { video: 90_000, audio: 48_000 } as const;

/** One stream of a connection. */
interface Stream {
  readonly kind: Kind;
  readonly order: RtpOrder;
  readonly clock: RtpClock;
}

/** One WebRTC connection that sends H.264, Opus, or both. */
export class WhipSession {
  readonly #deps: WhipSessionDeps;
  readonly #peer: RTCPeerConnection;
  readonly #streams: Stream[] = [];
  readonly #frames = new H264Frames();
  readonly #timer: NodeJS.Timeout;
  readonly #startMs: number;
  #sdp = '';
  #publication: Publication | undefined;
  #onEnd: () => void = () => undefined;
  #opusToAac: OpusToAac | undefined;
  #avcc: Uint8Array | undefined;
  #askForKey: () => void = () => undefined;
  #keyAskedMs = 0;
  /** Synchronization sources. */
  readonly #ssrcs = new Map<Kind, number>();
  /** Until the times of all streams are related to each other. */
  #held: (() => void)[] | undefined = [];
  #firstMs: number | undefined;
  #lastMs: number;
  #isReported = false;
  #originMs = 0;
  #hasEnded = false;

  private constructor(deps: WhipSessionDeps) {
    this.#deps = deps;
    this.#startMs = deps.clock.monotonicMs();
    this.#lastMs = this.#startMs;
    this.#peer = new RTCPeerConnection({
      codecs: {
        video: [
          useH264({
            parameters: 'level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f',
            rtcpFeedback: [{ type: 'nack' }, { type: 'nack', parameter: 'pli' }, { type: 'goog-remb' }],
          }),
        ],
        audio: [useOPUS()],
      },
      iceServers: [],
      iceAdditionalHostAddresses: [...deps.hostAddresses],
      ...(deps.ports && { icePortRange: [...deps.ports] as [number, number] }),
      bundlePolicy: 'max-bundle',
    });
    // After pending packets have been read: the server itself may have been blocked.
    this.#timer = setInterval(() => setImmediate(() => this.#check()), CHECK_MS).unref();
  }

  /**
   * @param offer SDP
   * @throws KinoraError `invalid_parameters` when it can't be read or has nothing to receive
   */
  static async open(offer: string, deps: WhipSessionDeps): Promise<WhipSession> {
    const session = new WhipSession(deps);
    try {
      await session.#negotiate(offer);
      return session;
    } catch (error) {
      session.end('The offer was refused.');
      throw error;
    }
  }

  /** The SDP answer with all candidates. */
  get sdp(): string {
    return this.#sdp;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** @param onEnd called once, whoever ends the connection */
  start(publication: Publication, onEnd: () => void): void {
    this.#publication = publication;
    this.#onEnd = onEnd;
    const { logger } = this.#deps;
    logger.info({ live_stream_id: publication.liveStreamId }, 'WebRTC encoder connected');
  }

  end(reason: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearInterval(this.#timer);
    this.#held = undefined;
    this.#peer.close().catch(() => undefined);
    this.#closeAudio();
    const publication = this.#publication;
    if (!publication) return;
    this.#deps.logger.info({ live_stream_id: publication.liveStreamId, reason }, 'WebRTC encoder disconnected');
    publication.end(reason);
    this.#onEnd();
  }

  async #negotiate(offer: string): Promise<void> {
    const peer = this.#peer;
    peer.onTransceiverAdded.subscribe((transceiver) => this.#receive(transceiver));
    try {
      await peer.setRemoteDescription({ type: 'offer', sdp: offer });
    } catch (cause) {
      throw new KinoraError('invalid_parameters', { messages: ['The SDP offer is invalid'], cause });
    }
    const kinds = peer.getTransceivers().filter((transceiver) => transceiver.codecs.length > 0);
    if (kinds.length === 0)
      throw new KinoraError('invalid_parameters', {
        messages: ['The SDP offer has neither H.264 video nor Opus audio'],
      });
    for (const transceiver of peer.getTransceivers()) transceiver.setDirection('recvonly');
    await peer.setLocalDescription(await peer.createAnswer());
    this.#sdp = withOuterAddresses(peer.localDescription!.sdp, this.#deps.outerAddresses);
    peer.connectionStateChange.subscribe((state) => {
      if (state === 'failed' || state === 'closed') this.end('The connection has ended.');
    });
  }

  #receive({ kind, receiver, onTrack }: RTCRtpTransceiver): void {
    if (kind !== 'video' && kind !== 'audio') return;
    if (this.#streams.some((other) => other.kind === kind)) return;
    const stream: Stream = { kind, order: new RtpOrder(), clock: new RtpClock(RATES[kind]) };
    this.#streams.push(stream);
    onTrack.subscribe((track) => {
      track.onReceiveRtp.subscribe(({ header, payload }) => {
        const { sequenceNumber, timestamp, marker, ssrc } = header;
        this.#ssrcs.set(kind, ssrc);
        this.#arrive(stream, { sequenceNumber, timestamp, marker, payload });
      });
    });
    receiver.onRtcp.subscribe((packet: RtcpPacket) => {
      if (!(packet instanceof RtcpSrPacket)) return;
      const { rtpTimestamp: timestamp, ntpTimestamp: ntp } = packet.senderInfo;
      stream.clock.report({ timestamp, ntp });
    });
    if (kind === 'video')
      this.#askForKey = () => {
        const ssrc = this.#ssrcs.get(kind);
        if (ssrc !== undefined) receiver.sendRtcpPLI(ssrc).catch(() => undefined);
      };
  }

  #arrive(stream: Stream, unit: RtpUnit): void {
    if (this.#hasEnded || !this.#publication) return;
    const { clock } = this.#deps;
    this.#lastMs = clock.monotonicMs();
    this.#firstMs ??= this.#lastMs;
    stream.clock.arrive(unit.timestamp, this.#lastMs);
    const { units, isLost } = stream.order.push(unit, this.#lastMs);
    if (isLost && stream.kind === 'video') this.#frames.lose();
    for (const each of units) this.#whenTimed(() => this.#take(stream, each));
    if (stream.kind === 'video' && this.#frames.needsKey) this.#wantKey(CHECK_MS);
  }

  /** Calls at once, or when the times of the streams are known. */
  #whenTimed(take: () => void): void {
    if (!this.#held) {
      take();
      return;
    }
    this.#held.push(take);
    const isReported = this.#streams.every(({ clock }) => clock.hasReport);
    const isLate = this.#deps.clock.monotonicMs() - this.#firstMs! > REPORT_MS;
    if (!isReported && !isLate && this.#held.length < MAX_HELD) return;
    this.#isReported = isReported;
    const held = this.#held;
    this.#held = undefined;
    for (const each of held) each();
  }

  #take({ kind, clock }: Stream, unit: RtpUnit): void {
    if (this.#hasEnded) return;
    const ticks = clock.unwrap(unit.timestamp);
    if (kind === 'audio') {
      // After a long pause, times are counted anew.
      if (this.#opusToAac?.isContinuedAt(ticks) === false) this.#closeAudio();
      this.#opusToAac ??= this.#openAudio(clock);
      if (!this.#opusToAac.push(ticks, unit.payload)) this.end('The server can not keep up with the audio.');
      return;
    }
    const frame = this.#frames.push(unit);
    if (!frame) return;
    const { avcc: record, isKey, data } = frame;
    if (record && !(this.#avcc && Buffer.compare(this.#avcc, record) === 0)) {
      this.#avcc = record;
      this.#write({ kind: 'video-config', config: { codec: 'avc', record } });
    }
    this.#write({ kind: 'video', dtsMs: this.#msOf(clock, ticks), compositionMs: 0, isKey, data });
  }

  #openAudio(clock: RtpClock): OpusToAac {
    this.#write({ kind: 'audio-config', config: AAC_CONFIG });
    return new OpusToAac(this.#deps.pool, {
      frame: (ticks, data) => this.#write({ kind: 'audio', dtsMs: this.#msOf(clock, ticks), data }),
      failed: () => this.end('The audio could not be encoded.'),
    });
  }

  #closeAudio(): void {
    void this.#opusToAac?.close();
    this.#opusToAac = undefined;
  }

  #msOf(clock: RtpClock, ticks: number): number {
    const ms = clock.msOf(ticks, this.#isReported);
    // Times of encoders begin near 0.
    if (this.#originMs === 0) this.#originMs = ms - 1000;
    return ms - this.#originMs;
  }

  #write(packet: IngestPacket): void {
    if (!this.#hasEnded) this.#publication?.write(packet);
  }

  #wantKey(leastMs: number): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#keyAskedMs < leastMs) return;
    this.#keyAskedMs = nowMs;
    this.#askForKey();
  }

  #check(): void {
    if (this.#hasEnded) return;
    const nowMs = this.#deps.clock.monotonicMs();
    if (this.#firstMs === undefined) {
      if (nowMs - this.#startMs > CONNECT_MS) this.end('No media has arrived.');
      return;
    }
    if (nowMs - this.#lastMs > IDLE_MS) this.end('The encoder is silent.');
    this.#wantKey(KEY_FRAME_MS);
  }
}

/** Adds a candidate at each outer address for each host candidate (RFC 8839, 5.1). */
const withOuterAddresses = (sdp: string, addresses: readonly string[]): string =>
  sdp.replaceAll(/^a=candidate:.* typ host.*\r?\n/gm, (line) => {
    const fields = line.split(' ');
    return line + addresses.map((address) => [...fields.slice(0, 4), address, ...fields.slice(5)].join(' ')).join('');
  });

import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { lookup } from 'node:dns';
import { once } from 'node:events';
import { isIP, isIPv6 } from 'node:net';
import { type Clock, systemClock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import { newKeyBytes } from '../../lib/ids.js';
import type { Logger } from '../../telemetry/logger.js';
import { AttemptLimit } from '../attempt-limit.js';
import type { IngestTarget, Refusal } from '../ingest.js';
import { addressGroup, peerAddress } from '../rtmp/peer-address.js';
import { acceptConclusion, type ConnectionRequest, KeyReader, plainHandshake, readConclusion } from './conclusion.js';
import {
  HANDSHAKE_TYPE,
  type Handshake,
  REJECTION,
  type Rejection,
  readHandshake,
  rejectionType,
  writePeerAddress,
} from './handshake.js';
import { HandshakeCookie } from './handshake-cookie.js';
import type { StreamKeys } from './key-material.js';
import { CONTROL, readPacket, writeControl } from './packets.js';
import { TICK_MS } from './srt-receiver.js';
import { SrtSession } from './srt-session.js';

export interface SrtServerOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly target: IngestTarget;
  readonly logger: Logger;
  readonly clock?: Clock;
}

const MAX_CONNECTIONS = 512;
/** Of one address; of IPv6, of one network with /64. */
const MAX_CONNECTIONS_PER_ADDRESS = 64;
const FAILED_KEYS_PER_MINUTE = 60;
/**
 * Within this time, a repeated conclusion of a refused peer gets the same response, and one of a
 * connection that has ended is late.
 */
const SETTLED_MS = 5000;
const MAX_SETTLED = 4096;
/** The network may deliver a burst while this process is busy; systems have lower limits. */
const RECEIVE_BUFFER_BYTES = 4 * 2 ** 20;
/** No peer sends more: handshakes agree on IP packets of at most 1,500 bytes. */
const MAX_DATAGRAM_BYTES = 1500;
/** Sending 0 chooses the receiver by its address. */
const NO_SOCKET = 0;
const SOCKET_ID_MASK = 0x3fffffff;

const REJECTIONS: Record<Refusal['reason'], Rejection> = {
  unknown_key: REJECTION.notFound,
  wrong_passphrase: REJECTION.badSecret,
  disabled: REJECTION.forbidden,
  in_use: REJECTION.conflict,
  rate_limited: REJECTION.overload,
  unavailable: REJECTION.unavailable,
};

/** Reasons that say nothing of the peer itself. */
const LIMITS = new Set<Rejection>([REJECTION.resource, REJECTION.overload]);
const PASSING = new Set<Rejection>([REJECTION.conflict, REJECTION.unavailable, REJECTION.forbidden]);

/** Who wants to connect, or has. One of them exists per socket of a peer. */
interface Peer {
  readonly remote: RemoteInfo;
  /** See `addressGroup`. */
  readonly group: string;
  /** The response to its conclusion; undefined while that is decided. */
  response?: Buffer;
  session?: SrtSession;
  /** By which the peer addresses this connection. */
  socketId?: number;
}

/** Receives streams over SRT: many connections on one UDP port. */
export class SrtServer {
  readonly #options: SrtServerOptions;
  readonly #clock: Clock;
  readonly #socket: Socket;
  readonly #cookie = new HandshakeCookie();
  readonly #failedKeys: AttemptLimit;
  /** By address, port and the peer's socket ID. */
  readonly #peers = new Map<string, Peer>();
  /** Peers that were refused or have ended, the same. */
  readonly #settled = new Map<string, { readonly response?: Buffer; readonly untilMs: number }>();
  readonly #bySocketId = new Map<number, Peer>();
  readonly #startMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  private constructor(options: SrtServerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#startMs = this.#clock.monotonicMs();
    this.#failedKeys = new AttemptLimit(FAILED_KEYS_PER_MINUTE, this.#clock);
    this.#socket = createSocket({
      type: isIPv6(options.host) ? 'udp6' : 'udp4',
      recvBufferSize: RECEIVE_BUFFER_BYTES,
      lookup: lookUp,
    });
    this.#socket.on('message', (bytes, remote) => this.#receive(bytes, remote));
  }

  /** @throws KinoraError `unavailable` with one sentence if it can't listen there */
  static async start(options: SrtServerOptions): Promise<SrtServer> {
    const server = new SrtServer(options);
    const socket = server.#socket;
    try {
      const listening = once(socket, 'listening');
      socket.bind({ address: options.host, port: options.port });
      await listening;
    } catch (error) {
      socket.close();
      throw listenError(options, error as NodeJS.ErrnoException);
    }
    socket.on('error', (error) => options.logger.warn({ error }, 'SRT socket failed'));
    return server;
  }

  get port(): number {
    return this.#socket.address().port;
  }

  /** Of encoders, and of those that are not accepted yet. */
  get connectionCount(): number {
    return this.#peers.size;
  }

  /** Ends all publications. */
  async stop(): Promise<void> {
    for (const { session } of this.#peers.values()) session?.close('The server is stopping.');
    this.#isStopped = true;
    const closed = once(this.#socket, 'close');
    this.#socket.close();
    await closed;
  }

  #receive(bytes: Buffer, remote: RemoteInfo): void {
    const packet = bytes.length > MAX_DATAGRAM_BYTES ? undefined : readPacket(bytes);
    if (!packet || this.#isStopped) return;
    if (packet.socketId !== NO_SOCKET) {
      const peer = this.#bySocketId.get(packet.socketId);
      if (!peer || peer.remote.port !== remote.port || peer.remote.address !== remote.address) return;
      const isHandshake = packet.kind === 'control' && packet.type === CONTROL.handshake;
      if (!isHandshake) this.#runSession(peer, (session) => session.receive(packet));
      return;
    }
    if (packet.kind !== 'control' || packet.type !== CONTROL.handshake) return;
    const handshake = readHandshake(packet.payload);
    if (handshake?.type === HANDSHAKE_TYPE.induction) this.#induce(handshake, remote);
    else if (handshake?.type === HANDSHAKE_TYPE.conclusion) this.#conclude(handshake, remote);
  }

  /** Nothing is stored: the address may be another one's. The response is not longer. */
  #induce(handshake: Handshake, remote: RemoteInfo): void {
    const cookie = this.#cookie.of(nameOf(remote), this.#clock.monotonicMs());
    const content = plainHandshake(
      handshake,
      { type: HANDSHAKE_TYPE.induction, cookie },
      writePeerAddress(remote.address),
    );
    this.#send(this.#handshakePacket(content, handshake.socketId), remote);
  }

  #conclude(handshake: Handshake, remote: RemoteInfo): void {
    const nowMs = this.#clock.monotonicMs();
    if (!this.#cookie.isValid(handshake.cookie, nameOf(remote), nowMs)) return;
    const name = `${nameOf(remote)} ${handshake.socketId}`;
    const peer = this.#peers.get(name);
    const settled = this.#settled.get(name);
    const isSettled = settled !== undefined && settled.untilMs > nowMs;
    const response = peer ? peer.response : settled?.response;
    if (!peer && !isSettled) this.#decide(name, handshake, remote);
    else if (response) this.#send(response, remote);
  }

  #decide(name: string, handshake: Handshake, remote: RemoteInfo): void {
    const group = addressGroup(peerAddress(remote.address));
    const request = this.#findLimit(group) ?? readConclusion(handshake);
    if (typeof request === 'number') {
      this.#refuse(name, handshake, remote, request, OBSTACLES[request] ?? 'The handshake is invalid.');
      return;
    }
    const peer: Peer = { remote, group };
    this.#peers.set(name, peer);
    this.#accept(name, peer, request).catch((error: unknown) => {
      this.#options.logger.error({ peer: remote.address, error }, 'SRT connection failed');
      this.#peers.delete(name);
    });
  }

  /** Why nobody of these addresses is accepted now. */
  #findLimit(group: string): Rejection | undefined {
    const ofGroup = [...this.#peers.values()].filter((other) => other.group === group).length;
    if (this.#peers.size >= MAX_CONNECTIONS || ofGroup >= MAX_CONNECTIONS_PER_ADDRESS) return REJECTION.resource;
    return this.#failedKeys.isReached(group) ? REJECTION.overload : undefined;
  }

  async #accept(name: string, peer: Peer, request: ConnectionRequest): Promise<void> {
    const { target, logger } = this.#options;
    const { remote } = peer;
    const { handshake, keyMessage, latencyMs } = request;
    let keyReader: KeyReader | undefined;
    let keys: StreamKeys | undefined;
    let closeReason: string | undefined;
    const address = peerAddress(remote.address);
    const accepted = await target.publish({
      streamKey: request.streamKey,
      protocol: 'srt',
      peer: address,
      hasPassphrase: (passphrase) => {
        keyReader = new KeyReader(passphrase);
        keys = keyReader.read(keyMessage);
        return keys !== undefined;
      },
      disconnect: (reason) => {
        closeReason = reason;
        peer.session?.close(reason);
      },
    });
    if ('reason' in accepted) {
      this.#peers.delete(name);
      const { reason, message, liveStreamId } = accepted;
      this.#refuse(name, handshake, remote, REJECTIONS[reason], message, liveStreamId);
      return;
    }
    if (!keys || !keyReader || this.#isStopped || closeReason !== undefined) {
      this.#peers.delete(name);
      accepted.end(closeReason ?? 'The server is stopping.');
      return;
    }
    const socketId = this.#newSocketId();
    peer.socketId = socketId;
    const { socketId: peerSocketId, initialSequence } = handshake;
    const readKeys = (message: Buffer): StreamKeys | undefined => keyReader?.read(message);
    peer.session = new SrtSession({
      peer: address,
      publication: accepted,
      connection: { peerSocketId, initialSequence, latencyMs, keys, readKeys },
      send: (packet) => this.#send(packet, remote),
      onEnd: () => {
        this.#peers.delete(name);
        this.#settle(name);
        this.#bySocketId.delete(socketId);
        if (this.#bySocketId.size === 0) clearInterval(this.#timer);
      },
      clock: this.#clock,
      logger,
    });
    if (this.#bySocketId.size === 0) this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#bySocketId.set(socketId, peer);
    const content = acceptConclusion(request, socketId, writePeerAddress(remote.address));
    peer.response = this.#handshakePacket(content, peerSocketId);
    this.#send(peer.response, remote);
  }

  #refuse(
    name: string,
    handshake: Handshake,
    remote: RemoteInfo,
    reason: Rejection,
    message: string,
    liveStreamId?: string,
  ): void {
    const peer = peerAddress(remote.address);
    const fields = { peer, reason: message, live_stream_id: liveStreamId };
    // Those who try again and again do not fill the log.
    if (LIMITS.has(reason)) this.#options.logger.debug(fields, 'SRT encoder refused');
    else this.#options.logger.info(fields, 'SRT encoder refused');
    if (!LIMITS.has(reason) && !PASSING.has(reason)) this.#failedKeys.add(addressGroup(peer));
    const { cookie } = handshake;
    const content = plainHandshake(
      handshake,
      { type: rejectionType(reason), cookie },
      writePeerAddress(remote.address),
    );
    const response = this.#handshakePacket(content, handshake.socketId);
    this.#send(response, remote);
    this.#settle(name, response);
  }

  #settle(name: string, response?: Buffer): void {
    this.#settled.delete(name);
    const [oldest] = this.#settled.keys();
    if (this.#settled.size >= MAX_SETTLED) this.#settled.delete(oldest!);
    this.#settled.set(name, { ...(response && { response }), untilMs: this.#clock.monotonicMs() + SETTLED_MS });
  }

  #tick(): void {
    for (const peer of this.#bySocketId.values()) this.#runSession(peer, (session) => session.tick());
  }

  /** A session that fails ends alone. */
  #runSession({ session }: Peer, step: (session: SrtSession) => void): void {
    if (!session) return;
    try {
      step(session);
    } catch (error) {
      this.#options.logger.error({ error, live_stream_id: session.liveStreamId }, 'SRT session failed');
      session.close('The server has failed.');
    }
  }

  #newSocketId(): number {
    for (;;) {
      const id = Buffer.from(newKeyBytes(4)).readUInt32BE(0) & SOCKET_ID_MASK;
      if (id !== NO_SOCKET && !this.#bySocketId.has(id)) return id;
    }
  }

  #handshakePacket(content: Buffer, socketId: number): Buffer {
    const timestamp = (this.#clock.monotonicMs() - this.#startMs) * 1000;
    return writeControl({ type: CONTROL.handshake, timestamp, socketId }, content);
  }

  /** A packet that can't be sent is like one that is lost. */
  #send(packet: Buffer, { port, address }: RemoteInfo): void {
    if (!this.#isStopped) this.#socket.send(packet, port, address, () => undefined);
  }
}

/** What the log says, and docs/live.md for owners of encoders. */
const OBSTACLES: Partial<Record<Rejection, string>> = {
  [REJECTION.resource]: 'Too many encoders are connected.',
  [REJECTION.overload]: 'Too many wrong stream keys; try again in a minute.',
  [REJECTION.version]: 'The encoder speaks an SRT older than 1.3.',
  [REJECTION.messageApi]: 'The encoder sends a file instead of a live stream.',
  [REJECTION.congestion]: 'The encoder sends a file instead of a live stream.',
  [REJECTION.filter]: 'The encoder uses a packet filter. Turn forward error correction off.',
  [REJECTION.group]: 'The encoder bonds connections.',
  [REJECTION.badRequest]: 'The stream ID is no stream key.',
  [REJECTION.badMode]: 'The peer wants to receive. Players use the HLS URL of the stream.',
  [REJECTION.unsecure]: 'The encoder has no passphrase.',
  [REJECTION.crypto]: 'The encoder encrypts in another way than by AES-CTR.',
};

/** Addresses need no look-up: packets are sent at once. */
const lookUp: NonNullable<Parameters<typeof createSocket>[0] & object>['lookup'] = (name, options, callback) => {
  const family = isIP(name);
  if (family === 0) lookup(name, options, callback);
  else callback(null, name, family);
};

const nameOf = ({ address, port }: RemoteInfo): string => `${address} ${port}`;

const listenError = ({ host, port }: SrtServerOptions, error: NodeJS.ErrnoException): KinoraError => {
  const why =
    error.code === 'EADDRINUSE'
      ? 'another program listens there'
      : error.code === 'EACCES'
        ? 'ports below 1024 need more permissions'
        : error.message;
  return new KinoraError('unavailable', {
    messages: [`Cannot receive SRT on ${host}:${port}: ${why}.`],
    cause: error,
  });
};

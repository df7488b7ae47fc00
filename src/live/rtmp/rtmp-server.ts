import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { type Clock, systemClock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import type { Logger } from '../../telemetry/logger.js';
import { AttemptLimit } from '../attempt-limit.js';
import type { IngestTarget } from '../ingest.js';
import { addressGroup, peerAddress } from './peer-address.js';
import { RtmpSession, type RtmpTransport } from './rtmp-session.js';
import { readTlsFiles, type TlsFiles, tlsFilesVersion } from './tls-files.js';

export interface RtmpLimits {
  readonly connections: number;
  /** Of one address; of IPv6, of one network with /64. A TCP proxy counts as one. */
  readonly connectionsPerAddress: number;
  /** From the connection to an accepted stream key. */
  readonly publishTimeoutMs: number;
  /** The longest pause between two messages of a publisher. */
  readonly idleTimeoutMs: number;
  /**
   * Wrong keys of one address. An encoder with a wrong key tries it 30 times a minute, and others
   * may share its address.
   */
  readonly failedKeysPerMinute: number;
}

export interface RtmpServerOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** With it, the server speaks RTMPS only. */
  readonly tls?: TlsFiles;
  readonly target: IngestTarget;
  readonly logger: Logger;
  readonly limits?: Partial<RtmpLimits>;
  readonly clock?: Clock;
  /** How often a renewed certificate is looked for; by default, twice a minute. */
  readonly tlsFilesMs?: number;
}

const DEFAULT_LIMITS: RtmpLimits = {
  connections: 512,
  connectionsPerAddress: 64,
  publishTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  failedKeysPerMinute: 60,
};

/** How often the times of all connections are checked. */
const CHECK_MS = 500;
/** A peer that does not read gets no more than this. */
const MAX_UNSENT_BYTES = 64 * 1024;
/** How long a peer may take to read why it was disconnected. */
const CLOSE_MS = 1000;
const KEEP_ALIVE_MS = 10_000;
const TLS_FILES_MS = 30_000;

/** Receives streams over RTMP or RTMPS. */
export class RtmpServer {
  private readonly limits: RtmpLimits;
  private readonly failedKeys: AttemptLimit;
  private readonly sessions = new Set<RtmpSession>();
  private readonly sockets = new Set<Socket>();
  /** Number of connections by address group. */
  private readonly connections = new Map<string, number>();
  private readonly clock: Clock;
  private readonly server: Server;
  private readonly timers: NodeJS.Timeout[] = [];

  private constructor(private readonly options: RtmpServerOptions) {
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.clock = options.clock ?? systemClock;
    this.failedKeys = new AttemptLimit(this.limits.failedKeysPerMinute, this.clock);
    this.server = this.createServer();
    const checkTimeouts = (): void => {
      for (const session of this.sessions) session.checkTimeout();
    };
    // After pending data has been read: encoders are not silent if the server itself was blocked.
    this.timers.push(setInterval(() => setImmediate(checkTimeouts), CHECK_MS).unref());
  }

  /**
   * @throws KinoraError `unavailable` with one sentence if it can't listen there, or the
   * certificate is unusable
   */
  static async start(options: RtmpServerOptions): Promise<RtmpServer> {
    let server: RtmpServer;
    try {
      server = new RtmpServer(options);
    } catch (error) {
      throw new KinoraError('unavailable', {
        messages: ['The certificate or the key of RTMPS can not be used.'],
        cause: error,
      });
    }
    try {
      await server.listen();
    } catch (error) {
      server.clearTimers();
      throw listenError(options, error as NodeJS.ErrnoException);
    }
    return server;
  }

  get port(): number {
    const address = this.server.address();
    return typeof address === 'object' && address ? address.port : this.options.port;
  }

  /** Of encoders and of those that may become one. */
  get connectionCount(): number {
    return this.sockets.size;
  }

  /** Ends all publications, and resolves when every socket is closed. */
  async stop(): Promise<void> {
    this.clearTimers();
    const closed = once(this.server, 'close');
    this.server.close();
    for (const session of this.sessions) session.close('The server is stopping.');
    // Connections in a TLS handshake have no session.
    const timer = setTimeout(() => {
      for (const socket of this.sockets) socket.destroy();
    }, CLOSE_MS);
    await closed;
    clearTimeout(timer);
  }

  private createServer(): Server {
    const { tls } = this.options;
    if (!tls) {
      const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS });
      return server.on('connection', (socket) => {
        if (this.admit(socket)) this.open(socket);
      });
    }
    const version = tlsFilesVersion(tls);
    const handshakeTimeout = this.limits.publishTimeoutMs;
    const server = createTlsServer({ ...readTlsFiles(tls), minVersion: 'TLSv1.2', handshakeTimeout });
    this.followTlsFiles(server, tls, version);
    server.on('connection', (socket) => {
      socket.setNoDelay(true);
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      this.admit(socket);
    });
    server.on('secureConnection', (socket) => this.open(socket));
    server.on('tlsClientError', (error, socket) => {
      this.options.logger.debug({ peer: peerAddress(socket.remoteAddress), error }, 'RTMPS handshake failed');
      socket.destroy();
    });
    return server;
  }

  /** New connections get a renewed certificate; those that exist continue. */
  private followTlsFiles(server: TlsServer, files: TlsFiles, firstVersion: string): void {
    let version = firstVersion;
    const reload = (): void => {
      const current = tlsFilesVersion(files);
      if (current === version) return;
      version = current;
      try {
        server.setSecureContext({ ...readTlsFiles(files), minVersion: 'TLSv1.2' });
        this.options.logger.info({}, 'RTMPS certificate reloaded');
      } catch (error) {
        // Half of a renewal: the other file changes too.
        this.options.logger.warn({ error }, 'RTMPS certificate not reloaded');
      }
    };
    this.timers.push(setInterval(reload, this.options.tlsFilesMs ?? TLS_FILES_MS).unref());
  }

  private clearTimers(): void {
    for (const timer of this.timers) clearInterval(timer);
  }

  private async listen(): Promise<void> {
    const { host, port } = this.options;
    this.server.listen({ host, port });
    await once(this.server, 'listening');
    this.server.on('error', (error) => this.options.logger.warn({ error }, 'RTMP connection not accepted'));
  }

  /** Counts a connection, or closes it at once. */
  private admit(socket: Socket): boolean {
    const group = addressGroup(peerAddress(socket.remoteAddress));
    const ofGroup = this.connections.get(group) ?? 0;
    if (this.sockets.size >= this.limits.connections || ofGroup >= this.limits.connectionsPerAddress) {
      this.options.logger.debug({ peer: group }, 'too many RTMP connections');
      socket.destroy();
      return false;
    }
    this.sockets.add(socket);
    this.connections.set(group, ofGroup + 1);
    socket.once('close', () => {
      this.sockets.delete(socket);
      const left = (this.connections.get(group) ?? 1) - 1;
      if (left > 0) this.connections.set(group, left);
      else this.connections.delete(group);
    });
    return true;
  }

  private open(socket: Socket | TLSSocket): void {
    const { target, logger } = this.options;
    const session: RtmpSession = new RtmpSession({
      peer: peerAddress(socket.remoteAddress),
      transport: this.transportOf(socket),
      target,
      failedKeys: this.failedKeys,
      logger,
      clock: this.clock,
      publishTimeoutMs: this.limits.publishTimeoutMs,
      idleTimeoutMs: this.limits.idleTimeoutMs,
    });
    this.sessions.add(session);
    socket.on('data', (data: Buffer) => session.receive(data));
    socket.on('error', (error) => logger.debug({ error }, 'RTMP socket failed'));
    socket.on('close', () => {
      this.sessions.delete(session);
      session.closed('The encoder has closed the connection.');
    });
  }

  private transportOf(socket: Socket): RtmpTransport {
    return {
      send: (bytes) => {
        if (!socket.writable) return;
        socket.write(bytes);
        if (socket.writableLength > MAX_UNSENT_BYTES) socket.destroy();
      },
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      close: () => this.closeSoon(socket),
    };
  }

  /**
   * What the peer still sends is read and dropped: a socket that is closed with unread data resets
   * the connection, and the reason would be lost.
   */
  private closeSoon(socket: Socket): void {
    socket.end();
    socket.resume();
    const timer = setTimeout(() => socket.destroy(), CLOSE_MS);
    socket.once('close', () => clearTimeout(timer));
  }
}

const listenError = ({ tls, host, port }: RtmpServerOptions, error: NodeJS.ErrnoException): KinoraError => {
  const name = tls ? 'RTMPS' : 'RTMP';
  const why =
    error.code === 'EADDRINUSE'
      ? 'another program listens there'
      : error.code === 'EACCES'
        ? 'ports below 1024 need more permissions'
        : error.message;
  return new KinoraError('unavailable', {
    messages: [`Cannot receive ${name} on ${host}:${port}: ${why}.`],
    cause: error,
  });
};

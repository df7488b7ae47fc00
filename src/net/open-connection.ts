import type { Socket } from 'node:net';

export interface Destination {
  /** A name or an address; one of IPv6 in brackets, as in URLs. */
  readonly host: string;
  readonly port: number;
  /** TLS, with a check of the certificate. */
  readonly isSecure: boolean;
}

/** Datagrams to and from one address. */
export interface DatagramChannel {
  /** A datagram that can't be sent is like one that is lost. */
  send(bytes: Uint8Array): void;
  /** What arrives from the address; nothing until it is set. */
  onMessage: (bytes: Buffer) => void;
  /** The network says that nobody is there, with a `code`. */
  onError: (error: NodeJS.ErrnoException) => void;
  close(): void;
}

/**
 * Opens connections to hosts that users name. A contract: `live` may not import the client.
 */
export interface ConnectionOpener {
  /**
   * The caller handles errors of the connection from now on, and ends it.
   * @throws KinoraError `invalid_input` if the host has an address that is not allowed, the error
   * of the network or of TLS with its `code`, `ETIMEDOUT` after ten seconds, or the reason of
   * `signal`
   */
  open(destination: Destination, signal: AbortSignal): Promise<Socket>;
  /**
   * The same for UDP. The caller closes the channel.
   * @throws KinoraError `invalid_input`, the error of the network, `ETIMEDOUT`, or the reason of
   * `signal`, as `open`
   */
  openDatagrams(destination: Pick<Destination, 'host' | 'port'>, signal: AbortSignal): Promise<DatagramChannel>;
}

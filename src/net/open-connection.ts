import type { Socket } from 'node:net';

export interface Destination {
  /** A name or an address; one of IPv6 in brackets, as in URLs. */
  readonly host: string;
  readonly port: number;
  /** TLS, with a check of the certificate. */
  readonly isSecure: boolean;
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
}

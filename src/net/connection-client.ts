import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { KinoraError } from '../lib/errors.js';
import { createLinkedAbort } from '../lib/linked-abort.js';
import { createAddressPolicy } from './address.js';
import type { ConnectionOpener, DatagramChannel, Destination } from './open-connection.js';
import { pinnedLookup, type Resolve, type ResolvedAddress, resolveHost, shareLookups } from './resolve-host.js';
import { timedOut } from './unreachable.js';

export interface ConnectionClientOptions {
  /** `true` allows all internal addresses, a list of CIDR networks only those. */
  readonly allowPrivate: boolean | readonly string[];
  /** Replaces the system's name resolution. */
  readonly resolve?: Resolve | undefined;
  /** Replaces the usual certificate authorities. PEM. */
  readonly ca?: string;
}

/** Name resolution and TLS included. */
const CONNECT_MS = 10_000;
const KEEP_ALIVE_MS = 10_000;

/** Connections that can't reach forbidden addresses, by the rules for sources. */
export class ConnectionClient implements ConnectionOpener {
  readonly #isAllowed: (address: string) => boolean;
  readonly #resolve: Resolve;
  readonly #tls: { readonly minVersion: 'TLSv1.2'; readonly ca?: string };

  constructor({ allowPrivate, resolve, ca }: ConnectionClientOptions) {
    this.#tls = { minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }) };
    this.#isAllowed = createAddressPolicy(allowPrivate);
    this.#resolve = shareLookups(resolve);
  }

  async open({ host, port, isSecure }: Destination, signal: AbortSignal) {
    using limited = createLinkedAbort(signal, CONNECT_MS);
    try {
      const addresses = await this.#allowedAddresses(host, limited.signal);
      const name = host.replace(/^\[|\]$/g, '');
      const options = { host: name, port, lookup: pinnedLookup(addresses) };
      const socket = isSecure
        ? connectTls({ ...options, ...this.#tls, ...(isIP(name) === 0 && { servername: name }) })
        : connect(options);
      try {
        await once(socket, isSecure ? 'secureConnect' : 'connect', { signal: limited.signal });
      } catch (error) {
        socket.on('error', () => undefined).destroy();
        throw error;
      }
      return socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    } catch (error) {
      signal.throwIfAborted();
      throw limited.isLate ? timedOut('No connection in time') : error;
    }
  }

  async openDatagrams({ host, port }: Pick<Destination, 'host' | 'port'>, signal: AbortSignal) {
    using limited = createLinkedAbort(signal, CONNECT_MS);
    try {
      const [first] = await this.#allowedAddresses(host, limited.signal);
      const { address, family } = first!;
      const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
      let isClosed = false;
      const channel: DatagramChannel = {
        send: (bytes) => isClosed || socket.send(bytes, () => undefined),
        onMessage: () => undefined,
        onError: () => undefined,
        close: () => {
          isClosed = true;
          socket.close();
        },
      };
      socket.on('message', (bytes) => channel.onMessage(bytes));
      socket.on('error', (error) => channel.onError(error));
      try {
        socket.connect(port, address);
        await once(socket, 'connect', { signal: limited.signal });
      } catch (error) {
        socket.close();
        throw error;
      }
      return channel;
    } catch (error) {
      signal.throwIfAborted();
      throw limited.isLate ? timedOut('No connection in time') : error;
    }
  }

  async #allowedAddresses(host: string, signal: AbortSignal): Promise<readonly ResolvedAddress[]> {
    const addresses = await resolveHost(new URL(`https://${host}`), signal, this.#resolve);
    if (!addresses.every(({ address }) => this.#isAllowed(address)))
      throw new KinoraError('invalid_input', { messages: ['The address is not allowed.'] });
    return addresses;
  }
}

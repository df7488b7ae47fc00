import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Instead of the system's name resolution. */
export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>;

const resolveBySystem: Resolve = (hostname) => systemLookup(hostname, { all: true });

/**
 * Asks for a name once at a time, whoever waits for it. The system's resolution blocks one of very few threads, and names
 * whose servers are silent for long, so that many questions for one such name would keep those for all others waiting.
 */
export const shareLookups = (resolve: Resolve = resolveBySystem): Resolve => {
  const running = new Map<string, ReturnType<Resolve>>();
  return (hostname) => {
    const lookup = running.get(hostname) ?? resolve(hostname).finally(() => running.delete(hostname));
    running.set(hostname, lookup);
    return lookup;
  };
};

/** The addresses of a URL's host: a literal one as it stands, a name by resolution. Ends when `signal` does. */
export const resolveHost = async (
  url: URL,
  signal: AbortSignal,
  resolve: Resolve = resolveBySystem,
): Promise<readonly ResolvedAddress[]> => {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  signal.throwIfAborted();
  const addresses = await new Promise<readonly ResolvedAddress[]>((found, failed) => {
    signal.addEventListener('abort', () => failed(signal.reason), { once: true });
    resolve(host).then(found, failed);
  });
  if (addresses.length === 0) throw new Error('The name has no address');
  return addresses;
};

/** Makes a connection go to these very addresses, so that a second DNS answer has no say. */
export const pinnedLookup =
  (addresses: readonly ResolvedAddress[]): LookupFunction =>
  (_hostname, options, done) => {
    const [first] = addresses;
    if (options.all === true) done(null, [...addresses]);
    else if (first !== undefined) done(null, first.address, first.family);
  };

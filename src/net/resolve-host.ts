import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Replaces the system's name resolution. */
export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>;

const resolveBySystem: Resolve = (hostname) => systemLookup(hostname, { all: true });

/**
 * Shares one lookup per name among all callers. The system's resolver blocks one of very few
 * threads, and a name whose servers don't answer blocks it for long, so many lookups of such a name
 * would delay all others.
 */
export const shareLookups = (resolve: Resolve = resolveBySystem): Resolve => {
  const running = new Map<string, ReturnType<Resolve>>();
  return (hostname) => {
    const lookup = running.get(hostname) ?? resolve(hostname).finally(() => running.delete(hostname));
    running.set(hostname, lookup);
    return lookup;
  };
};

/**
 * The addresses of a URL's host: a literal address unchanged, a name by resolution. Ends when
 * `signal` does.
 */
export const resolveHost = async (
  url: URL,
  signal: AbortSignal,
  resolve: Resolve = resolveBySystem,
): Promise<readonly ResolvedAddress[]> => {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  signal.throwIfAborted();
  const addresses = await new Promise<readonly ResolvedAddress[]>((onResolved, failed) => {
    signal.addEventListener('abort', () => failed(signal.reason), { once: true });
    resolve(host).then(onResolved, failed);
  });
  if (addresses.length === 0) throw Object.assign(new Error('The name has no address'), { code: 'ENOTFOUND' });
  return addresses;
};

/** Makes a connection use these addresses, so that a second DNS answer has no effect. */
export const pinnedLookup =
  (addresses: readonly ResolvedAddress[]): LookupFunction =>
  (_hostname, options, done) => {
    const [first] = addresses;
    if (options.all === true) done(null, [...addresses]);
    else if (first !== undefined) done(null, first.address, first.family);
  };

import type { Destination } from '../../net/open-connection.js';

export interface RtmpDestination extends Destination {
  readonly app: string;
  /** The URL of the application. */
  readonly tcUrl: string;
  readonly streamKey: string;
}

const DEFAULT_PORTS = { rtmp: 1935, rtmps: 443 } as const;
/** Texts of AMF0 are at most 65,535 bytes long. */
const MAX_LENGTH = 4096;

/**
 * Where a simulcast target is. Without a stream key of its own, the last part of the path is the
 * key. Undefined for URLs that name no host or no key, or contain a password: a service gets it by
 * no standard.
 */
export const readRtmpDestination = (url: string, streamKey: string | null): RtmpDestination | undefined => {
  const [, protocol = '', authority = '', rest = ''] = /^(rtmps?):\/\/([^/?#@]+)([^#]*)$/i.exec(url) ?? [];
  const parsed = authority !== '' && url.length <= MAX_LENGTH ? parseAuthority(authority) : undefined;
  if (!parsed) return undefined;
  const scheme = protocol.toLowerCase() as keyof typeof DEFAULT_PORTS;
  const [path = '', ...query] = rest.replace(/^\//, '').split('?');
  const search = query.length > 0 ? `?${query.join('?')}` : '';
  const parts = path.replace(/\/+$/, '').split('/');
  const key = streamKey ?? (parts.length > 1 ? `${parts.pop()}${search}` : '');
  if (key === '' || key.length > MAX_LENGTH) return undefined;
  const app = `${parts.join('/')}${streamKey === null ? '' : search}`;
  return {
    host: parsed.host,
    port: parsed.port ?? DEFAULT_PORTS[scheme],
    isSecure: scheme === 'rtmps',
    app,
    tcUrl: `${scheme}://${authority}/${app}`,
    streamKey: key,
  };
};

const parseAuthority = (authority: string): { host: string; port: number | undefined } | undefined => {
  try {
    const port = /:(\d+)$/.exec(authority)?.[1];
    // A scheme for which names and addresses are brought into one form; it would drop its own port.
    return { host: new URL(`https://${authority}`).hostname, port: port === undefined ? undefined : Number(port) };
  } catch {
    return undefined;
  }
};

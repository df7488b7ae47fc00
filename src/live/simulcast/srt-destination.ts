import { MAX_LATENCY_MS } from '../srt/handshake.js';
import type { SrtCall } from '../srt/srt-caller.js';

export interface SrtDestination {
  readonly host: string;
  readonly port: number;
  readonly call: SrtCall;
}

const MAX_LENGTH = 4096;
/** A longer one has no room in a handshake of other implementations. */
const MAX_STREAM_ID_BYTES = 512;

/**
 * Where an SRT target is: `srt://host:port` with `streamid`, `passphrase`, `pbkeylen` (16, 24 or
 * 32) and `latency` (milliseconds). Without `streamid`, it is the stream key of the target.
 * Undefined for what can't be called.
 */
export const readSrtDestination = (url: string, streamKey: string | null): SrtDestination | undefined => {
  const [, authority = '', query = ''] = /^srt:\/\/([^/?#@]+)\/?(?:\?(.*))?$/is.exec(url) ?? [];
  const port = Number(/:(\d{1,5})$/.exec(authority)?.[1]);
  if (url.length > MAX_LENGTH || !(port > 0 && port < 65_536)) return undefined;
  const fields = readQuery(query);
  const host = hostOf(authority);
  if (host === undefined || !fields) return undefined;
  const streamId = fields.get('streamid') ?? streamKey ?? '';
  const passphrase = fields.get('passphrase');
  const keyBytes = Number(fields.get('pbkeylen') || 16);
  const latencyMs = Number(fields.get('latency') ?? 0);
  const isUsable =
    (fields.get('mode') ?? 'caller') === 'caller' &&
    (fields.get('transtype') ?? 'live') === 'live' &&
    Buffer.byteLength(streamId) <= MAX_STREAM_ID_BYTES &&
    (passphrase === undefined || (passphrase.length >= 10 && passphrase.length <= 79)) &&
    [16, 24, 32].includes(keyBytes) &&
    latencyMs >= 0;
  if (!isUsable) return undefined;
  return { host, port, call: { streamId, passphrase, keyBytes, latencyMs: Math.min(latencyMs, MAX_LATENCY_MS) } };
};

/** `+` is no space, and `#` ends nothing: stream IDs may begin with it. */
const readQuery = (query: string): Map<string, string> | undefined => {
  try {
    return new Map(
      query
        .split('&')
        .filter(Boolean)
        .map((field): [string, string] => {
          const [name = '', ...value] = field.split('=');
          return [name.toLowerCase(), decodeURIComponent(value.join('='))];
        }),
    );
  } catch {
    return undefined;
  }
};

const hostOf = (authority: string): string | undefined => {
  try {
    return new URL(`https://${authority}`).hostname;
  } catch {
    return undefined;
  }
};

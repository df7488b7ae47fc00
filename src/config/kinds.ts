import { isIP, isIPv6 } from 'node:net';
import { resolve } from 'node:path';
import type { BucketPath } from '../lib/bucket-url.js';

/** Converts the text of an option to a value. */
export interface Kind<T> {
  /** What the documentation says about the format of the text. */
  readonly form: string;
  /** @throws Error whose message continues a sentence that begins with the option's name */
  parse(text: string): T;
  /** The value of the flag when it stands alone. */
  readonly bare?: string;
}

const wrong = (expected: string, text: string): Error => new Error(`must be ${expected}, not ${JSON.stringify(text)}`);

export const directory: Kind<string> = { form: 'path', parse: (text) => resolve(text) };

export const file: Kind<string> = { form: 'path', parse: (text) => resolve(text) };

export const text: Kind<string> = {
  form: 'text',
  parse: (value) => {
    if (/^[\x20-\x7e]+$/.test(value)) return value;
    throw wrong('printable ASCII text', value);
  },
};

/** A file may have any name. */
export const nameOrPath: Kind<string> = {
  form: 'name or path',
  parse: (value) => {
    if (/^[^\p{Cc}]+$/u.test(value)) return value;
    throw wrong('a name or a path without control characters', value);
  },
};

/** Error messages never repeat the text. */
export const bearerToken: Kind<string> = {
  form: 'printable characters',
  parse: (value) => {
    if (/^[\x21-\x7e]+$/.test(value)) return value;
    throw new Error('must be printable ASCII characters without spaces');
  },
};

/**
 * Words separated by spaces; a word that contains spaces is quoted. It does not go through a shell.
 */
export const programCall: Kind<readonly string[]> = {
  form: 'program and arguments',
  parse: (value) => {
    const words = value.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
    const isWhole = words.join('') === value.replace(/("[^"]*"|'[^']*')|\s+/g, '$1');
    if (isWhole && value.includes('{audio}')) return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'));
    throw wrong('a program and its arguments, with {audio} in place of the audio file', value);
  },
};

/** In lower case, at least one. */
export const textList: Kind<readonly string[]> = {
  form: 'comma-separated texts',
  parse: (value) => {
    const parts = text
      .parse(value)
      .split(',')
      .map((part) => part.trim().toLowerCase());
    if (parts.every((part) => part !== '')) return parts;
    throw wrong('a comma-separated list without empty entries', value);
  },
};

/** What a server can do. */
const ROLES = ['api', 'stream', 'upload', 'jobs', 'edge'] as const;
export type Role = (typeof ROLES)[number];

export const roleList: Kind<readonly Role[]> = {
  form: `comma-separated list of ${ROLES.map((role) => `\`${role}\``).join(', ')}`,
  parse: (value) => {
    const names = new Set(value.split(',').map((part) => part.trim()));
    const roles = ROLES.filter((role) => names.delete(role));
    if (roles.length > 0 && names.size === 0) return roles;
    throw wrong(`a comma-separated list of ${ROLES.join(', ')}`, value);
  },
};

export const host: Kind<string> = {
  form: 'host name or address',
  parse: (value) => {
    if (isIP(value) > 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(value)) return value;
    throw wrong('a host name or an IP address without scheme and port', value);
  },
};

export const wholeNumber = (min: number, max: number): Kind<number> => ({
  form: `${min} to ${max}`,
  parse: (value) => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= min && number <= max) return number;
    throw wrong(`a whole number from ${min} to ${max}`, value);
  },
});

const port = wholeNumber(0, 65_535);

/** For a server that need not listen; 0 picks a free port. */
export const portOrOff: Kind<number | 'off'> = {
  form: `${port.form}, or \`off\``,
  parse: (value) => (value === 'off' ? value : port.parse(value)),
};

const factor: Kind<number> = {
  form: 'number from 0',
  parse: (value) => {
    if (/^\d{1,6}(\.\d{1,3})?$/.test(value)) return Number(value);
    throw wrong('a number from 0, or never', value);
  },
};

export const factorOrNever: Kind<number | 'never'> = {
  form: `${factor.form}, or \`never\``,
  parse: (value) => (value === 'never' ? value : factor.parse(value)),
};

export const portRange: Kind<readonly [number, number] | 'any' | 'off'> = {
  form: 'two port numbers such as `50000-50100`, `any` or `off`',
  parse: (value) => {
    if (value === 'any' || value === 'off') return value;
    const [first, last] = (/^(\d{1,5})-(\d{1,5})$/.exec(value) ?? []).slice(1).map(Number);
    if (first !== undefined && last !== undefined && first > 0 && first < last && last <= 65_535) return [first, last];
    throw wrong('a range of ports such as 50000-50100, any or off', value);
  },
};

export const boolean: Kind<boolean> = {
  form: '`true` or `false`',
  bare: 'true',
  parse: (value) => {
    if (/^(true|1)$/i.test(value)) return true;
    if (/^(false|0)$/i.test(value)) return false;
    throw wrong('true or false', value);
  },
};

export const oneOf = <T extends string>(...values: readonly T[]): Kind<T> => ({
  form: values.map((value) => `\`${value}\``).join(', '),
  parse: (value) => {
    const match = values.find((candidate) => candidate === value);
    if (match !== undefined) return match;
    throw wrong(`one of ${values.join(', ')}`, value);
  },
});

const sizeUnits: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/** In bytes; `10GiB`, `500MB`, or a bare number of bytes. */
export const sizeBytes: Kind<number> = {
  form: 'size: `10GiB`, `500MB`',
  parse: (value) => {
    const [, number, unit = 'B'] = /^(\d+(?:\.\d+)?) ?([a-z]+)?$/i.exec(value) ?? [];
    const bytes = Math.round(Number(number) * (sizeUnits[unit.toLowerCase()] ?? Number.NaN));
    if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
    throw wrong('a size such as 10GiB, 500MB or a number of bytes', value);
  },
};

/** 0 turns something off. */
export const sizeBytesOrZero: Kind<number> = {
  form: `${sizeBytes.form}; or \`0\``,
  parse: (value) => (value === '0' ? 0 : sizeBytes.parse(value)),
};

/** `smallest` is a size as a person would write it. */
export const sizeBytesFrom = (smallest: string): Kind<number> => ({
  form: `${sizeBytes.form}; at least \`${smallest}\``,
  parse: (value) => {
    const bytes = sizeBytes.parse(value);
    if (bytes >= sizeBytes.parse(smallest)) return bytes;
    throw wrong(`at least ${smallest}`, value);
  },
});

const durationUnits: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** In lower case. */
export const headerName: Kind<string> = {
  form: 'name of a header',
  parse: (text) => {
    if (!/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(text)) throw wrong('the name of a header', text);
    return text.toLowerCase();
  },
};

/** In milliseconds; always with a unit. */
export const durationMs: Kind<number> = {
  form: 'duration: `500ms`, `30s`, `5m`',
  parse: (value) => {
    const [, number, unit = ''] = /^(\d+)(ms|s|m|h)$/.exec(value) ?? [];
    const milliseconds = Number(number) * (durationUnits[unit] ?? Number.NaN);
    if (Number.isSafeInteger(milliseconds) && milliseconds > 0) return milliseconds;
    throw wrong('a duration such as 500ms, 30s or 5m', value);
  },
};

/** A duration of at most a day. Timers of Node.js can't take 25 days. */
export const timeLimitMs: Kind<number> = {
  form: `${durationMs.form}; at most \`24h\``,
  parse: (value) => {
    const milliseconds = durationMs.parse(value);
    if (milliseconds <= 24 * 3_600_000) return milliseconds;
    throw wrong('at most 24h', value);
  },
};

/** A rate per second and a burst size: by default ten seconds' worth, and at least one. */
export const rate: Kind<{ readonly perSecond: number; readonly burst: number }> = {
  form: '`<per second>` or `<per second>:<burst>`',
  parse: (value) => {
    const [, perSecond, burst] = /^(\d+(?:\.\d+)?)(?::(\d+))?$/.exec(value) ?? [];
    const parsed = { perSecond: Number(perSecond), burst: Math.max(1, Number(burst ?? Number(perSecond) * 10)) };
    if (parsed.perSecond > 0 && burst !== '0') return parsed;
    throw wrong('requests per second such as 5, or with a burst such as 5:50', value);
  },
};

/** An http(s) URL that paths are appended to; returned without a trailing slash. */
export const baseUrl: Kind<string> = {
  form: 'http(s) URL',
  parse: (value) => {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (url && /^https?:$/.test(url.protocol) && `${url.search}${url.hash}${url.username}${url.password}` === '') {
      return url.href.replace(/\/+$/, '');
    }
    throw wrong('a URL such as https://video.example.org, without query and credentials', value);
  },
};

/** Where encoders send, without the stream key; returned without a trailing slash. */
export const ingestUrl: Kind<string> = {
  form: 'rtmp(s) URL',
  parse: (value) => {
    if (/^rtmps?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(value) && URL.canParse(value)) return value.replace(/\/+$/, '');
    throw wrong('a URL such as rtmps://live.example.org/app', value);
  },
};

/** Error messages never repeat the text, because it may contain credentials. */
export const webhookUrl: Kind<string> = {
  form: 'http(s) URL',
  parse: (value) => {
    if (/^https?:\/\/[^\s\\/?#][^\s\\]*$/i.test(value) && URL.canParse(value) && value.length <= 2048) return value;
    throw new Error('must be a URL such as https://example.org/webhooks');
  },
};

/** Error messages never repeat the text. */
export const signingSecret: Kind<string> = {
  form: '16 to 255 printable characters',
  parse: (value) => {
    if (/^[\x21-\x7e]{16,255}$/.test(value)) return value;
    throw new Error('must be 16 to 255 printable ASCII characters without spaces');
  },
};

const block = (value: string): string => {
  const [address = '', prefix, ...more] = value.split('/');
  const longest = isIPv6(address) ? 128 : 32;
  const bits = prefix ?? String(longest);
  if (isIP(address) > 0 && more.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= longest) {
    return `${address}/${Number(bits)}`;
  }
  throw wrong('true, false or a comma-separated list of blocks such as 10.0.0.0/8,fd00::/8', value);
};

/** All, none, or these CIDR blocks (always with a prefix length). */
export const addressBlocks: Kind<boolean | readonly string[]> = {
  form: '`true`, `false` or comma-separated CIDR blocks',
  bare: 'true',
  parse: (value) => {
    if (/^(true|1|false|0)$/i.test(value)) return boolean.parse(value);
    return value.split(',').map((part) => block(part.trim()));
  },
};

/** Error messages never repeat the text, because it contains a password. */
export const databaseUrl: Kind<string> = {
  form: '`postgres://user:password@host/database`',
  parse: (value) => {
    if (URL.canParse(value) && /^postgres(ql)?:$/.test(new URL(value).protocol)) return value;
    throw new Error('must be a URL such as postgres://user:password@host:5432/database');
  },
};

/** Error messages never repeat the text, because it contains a secret. */
export const accessToken: Kind<string> = {
  form: '`id:secret`, the id a UUID or a name of letters, digits, `.`, `_` and `-`',
  parse: (value) => {
    if (/^[a-z0-9][a-z0-9._-]{0,63}:[\x21-\x7e]+$/i.test(value)) return value;
    throw new Error('must be a token id (a UUID or a short name), a colon and the secret');
  },
};

/** A bucket, and what every key in it begins with. */
export const blobs: Kind<'file' | BucketPath> = {
  form: '`file` or `s3://bucket/prefix`',
  parse: (value) => {
    if (value === 'file') return value;
    const [, bucket, prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/*$/.exec(value) ?? [];
    const [, name] = /^s3:\/\/([a-z0-9.-]+)(?:\/|$)/.exec(value) ?? [];
    if (name !== undefined && bucket === undefined)
      throw wrong('in a bucket whose name has 3 to 63 characters and begins and ends with a letter or a digit', value);
    const isClean = prefix === '' || prefix.split('/').every((part) => /^(?!\.)[A-Za-z0-9._-]+$/.test(part));
    if (bucket !== undefined && isClean) return { bucket, prefix };
    throw wrong('file or s3://bucket/prefix with letters, digits, ".", "_" and "-"', value);
  },
};

export const bucketPaths: Kind<readonly BucketPath[]> = {
  form: 'comma-separated list of `s3://bucket/prefix`',
  parse: (value) =>
    value.split(',').map((part) => {
      const path = blobs.parse(part.trim());
      if (path === 'file') throw wrong('a comma-separated list of s3://bucket/prefix', value);
      return path;
    }),
};

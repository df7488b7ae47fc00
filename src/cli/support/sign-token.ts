import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { systemClock } from '../../lib/clock.js';
import { type Flags, textOf, usageError } from './command.js';

/** What a token gives access to, and the claim that says so. */
export const audiences = { video: 'v', thumbnail: 't', gif: 'g', storyboard: 's', drm: 'd' } as const;
export type Audience = keyof typeof audiences;

/** The flags of commands that sign. */
export const signFlags = {
  '--key <file>': 'file of the signing key, as kinora signing-key create writes it',
  '--expires <duration>': 'how long the link is valid, such as 30m, 12h or 7d; 1h if absent',
} as const;

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;
const MAX_DIGITS = 6;

interface SigningKey {
  readonly id: string;
  readonly privateKey: KeyObject;
}

/** @throws KinoraError `config_invalid` without repeating the key */
const readKey = (flags: Flags): SigningKey => {
  const path = textOf(flags, '--key');
  if (path === undefined) {
    throw usageError('--key is required: kinora signing-key create --output key.json makes the file.');
  }
  try {
    const { id, private_key: text } = JSON.parse(readFileSync(path, 'utf8'));
    return { id, privateKey: createPrivateKey(Buffer.from(text, 'base64').toString()) };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    const reason = code.startsWith('E') && !code.startsWith('ERR') ? code : 'it holds no signing key';
    throw usageError(`--key: ${path} cannot be used (${reason}).`);
  }
};

const readSeconds = (flags: Flags): number => {
  const text = textOf(flags, '--expires') ?? '1h';
  const [, number, unit] = new RegExp(`^(\\d{1,${MAX_DIGITS}})([smhd])$`).exec(text) ?? [];
  if (Number(number) > 0) return Number(number) * SECONDS[unit as keyof typeof SECONDS];
  throw usageError(`--expires must be a duration such as 30m, 12h or 7d, not ${JSON.stringify(text)}.`);
};

export interface SignedToken {
  readonly token: string;
  readonly expiresAt: Date;
}

/**
 * Signs a token for one playback ID.
 * @param claims in addition, such as the parameters of an image
 * @throws KinoraError `config_invalid`
 */
export const signToken = async (
  flags: Flags,
  playbackId: string,
  audience: Audience,
  claims: Readonly<Record<string, string>> = {},
): Promise<SignedToken> => {
  const { id, privateKey } = readKey(flags);
  // Loaded on demand, so that other commands start quickly.
  const { SignJWT } = await import('jose');
  const expires = Math.floor(systemClock.now().getTime() / 1000) + readSeconds(flags);
  const token = await new SignJWT({ ...claims, kid: id })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: id })
    .setSubject(playbackId)
    .setAudience(audiences[audience])
    .setExpirationTime(expires)
    .sign(privateKey);
  return { token, expiresAt: new Date(expires * 1000) };
};

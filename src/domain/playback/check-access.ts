import { KinoraError } from '../../lib/errors.js';

/**
 * Lets public ids pass and judges the token of the others. No signing key can exist yet, so every well-formed token is
 * signed with an unknown one.
 * @throws KinoraError `forbidden`
 */
export const checkAccess = (policy: 'public' | 'signed' | 'drm', token: string | undefined): void => {
  if (policy === 'public') return;
  const refuse = (message: string): never => {
    throw new KinoraError('forbidden', { messages: [message] });
  };
  if (!token) refuse('Token is missing');
  const parts = token!.split('.');
  const header = parts.length === 3 && parts.every((part) => BASE64URL.test(part)) ? parseObject(parts[0]!) : undefined;
  if (!header || !parseObject(parts[1]!)) refuse('Token is malformed');
  if (header!.alg !== 'RS256') refuse('Token algorithm is not supported');
  refuse('Token key is unknown');
};

/** An empty signature is well-formed: that is what `alg: none` looks like. */
const BASE64URL = /^[A-Za-z0-9_-]*$/;

const parseObject = (part: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    // Not JSON: malformed, which is what undefined says.
    return undefined;
  }
};

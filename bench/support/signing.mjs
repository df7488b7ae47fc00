import { createPrivateKey, sign } from 'node:crypto';

/**
 * A token for videos, valid for an hour. The second argument is a response of `POST /signing-keys`.
 */
export const signToken = (playbackId, { id, private_key }) => {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { kid: id, sub: playbackId, aud: 'v', exp: Math.floor(Date.now() / 1000) + 3600 };
  const input = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`;
  const pem = Buffer.from(private_key, 'base64').toString();
  return `${input}.${sign('sha256', Buffer.from(input), createPrivateKey(pem)).toString('base64url')}`;
};

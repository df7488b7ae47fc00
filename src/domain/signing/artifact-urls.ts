import { createHmac, timingSafeEqual } from 'node:crypto';
import { KinoraError } from '../../lib/errors.js';
import type { Artifact, ArtifactUrls } from '../context.js';

const UNIX_SECONDS = /^[1-9]\d{0,15}$/;

/**
 * @param secret of the installation; a key for this purpose alone is derived from it
 * @param baseUrl without a trailing slash; called each time, because a port may be known only once the server listens
 */
export const createArtifactUrls = (secret: string, baseUrl: () => string): ArtifactUrls => {
  const key = createHmac('sha256', secret).update('artifact address').digest();
  const sign = ({ kind, assetId, version, file }: Artifact, expires: string): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([kind, assetId, version, file, expires]))
      .digest('base64url');
  return {
    urlOf: (artifact, expiresAtSeconds) => {
      const { kind, assetId, file } = artifact;
      const signature = sign(artifact, String(expiresAtSeconds));
      return kind === 'master'
        ? `${baseUrl()}/master/${assetId}/${signature}/${file}?expires=${expiresAtSeconds}`
        : `${baseUrl()}/artifacts/${kind}/${assetId}/${file}?expires=${expiresAtSeconds}&sig=${signature}`;
    },
    check: (artifact, expires, signature, now) => {
      const given = Buffer.from(typeof signature === 'string' ? signature : '');
      const seconds = typeof expires === 'string' && UNIX_SECONDS.test(expires) ? expires : '0';
      const expected = Buffer.from(sign(artifact, seconds));
      if (given.length !== expected.length || !timingSafeEqual(given, expected))
        throw new KinoraError('forbidden', { messages: ['Signature is invalid'] });
      if (Number(seconds) * 1000 <= now.getTime())
        throw new KinoraError('forbidden', { messages: ['Signature has expired'] });
    },
  };
};

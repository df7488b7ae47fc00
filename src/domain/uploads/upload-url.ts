import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Row } from '../../db/schema.js';

/** URLs that contain their permission: anyone with the URL may send the file of one upload until it expires. */
export interface UploadUrls {
  /** Absolute. */
  urlOf(upload: Pick<Row<'upload'>, 'id' | 'expires_at'>): string;
  /** Whether both query parameters are those of the upload's own URL. */
  isSigned(upload: Pick<Row<'upload'>, 'id' | 'expires_at'>, expires: unknown, signature: unknown): boolean;
}

/**
 * @param secret of the installation; a key for this purpose alone is derived from it
 * @param baseUrl without a trailing slash; called each time, because a port may be known only once the server listens
 */
export const createUploadUrls = (secret: string, baseUrl: () => string): UploadUrls => {
  const key = createHmac('sha256', secret).update('upload address').digest();
  const expiresOf = ({ expires_at: time }: Pick<Row<'upload'>, 'expires_at'>) =>
    String(Math.ceil(time.getTime() / 1000));
  const sign = (id: string, expires: string) =>
    createHmac('sha256', key).update(`${id}.${expires}`).digest('base64url');
  return {
    urlOf: (upload) => {
      const expires = expiresOf(upload);
      return `${baseUrl()}/u/${upload.id}?expires=${expires}&sig=${sign(upload.id, expires)}`;
    },
    isSigned: (upload, expires, signature) => {
      const expected = Buffer.from(sign(upload.id, expiresOf(upload)));
      const given = Buffer.from(typeof signature === 'string' ? signature : '');
      return expires === expiresOf(upload) && given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
};

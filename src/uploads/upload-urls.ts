import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Row } from '../db/schema.js';

type SignedUpload = Pick<Row<'upload'>, 'id' | 'expires_at'>;

const expiresOf = ({ expires_at: time }: SignedUpload): string => String(Math.ceil(time.getTime() / 1000));

/**
 * URLs that contain their permission: anyone with the URL may send the file of one upload until it
 * expires.
 */
export class UploadUrls {
  private readonly key: Buffer;

  /**
   * @param secret of the installation; a key for this purpose alone is derived from it
   * @param baseUrl without a trailing slash; called each time, because a port may be known only
   * once the server listens
   */
  constructor(
    secret: string,
    private readonly baseUrl: () => string,
  ) {
    this.key = createHmac('sha256', secret).update('upload address').digest();
  }

  /** Absolute. */
  urlOf(upload: SignedUpload): string {
    const expires = expiresOf(upload);
    return `${this.baseUrl()}/u/${upload.id}?expires=${expires}&sig=${this.sign(upload.id, expires)}`;
  }

  /** Whether both query parameters are those of the upload's own URL. */
  isSigned(upload: SignedUpload, expires: unknown, signature: unknown): boolean {
    const expected = Buffer.from(this.sign(upload.id, expiresOf(upload)));
    const sent = Buffer.from(typeof signature === 'string' ? signature : '');
    return expires === expiresOf(upload) && sent.length === expected.length && timingSafeEqual(sent, expected);
  }

  private sign(id: string, expires: string): string {
    return createHmac('sha256', this.key).update(`${id}.${expires}`).digest('base64url');
  }
}

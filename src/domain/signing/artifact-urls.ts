import { createHmac, timingSafeEqual } from 'node:crypto';
import { KinoraError } from '../../lib/errors.js';

/** A file that is not reached through a playback ID. */
export interface Artifact {
  readonly kind: 'master' | 'shots' | 'robots' | 'views';
  /** Of the asset that it belongs to, or of the environment whose views it has. */
  readonly ownerId: string;
  /** Identifies the order that the file was made for: a later order has other URLs. */
  readonly version: string;
  /** The file name, such as `master.mp4`. */
  readonly file: string;
}

const UNIX_SECONDS = /^[1-9]\d{0,15}$/;

/** URLs on the stream host that contain their permission and expire. */
export class ArtifactUrls {
  readonly #key: Buffer;
  readonly #baseUrl: () => string;

  /**
   * @param secret of the installation; a key for this purpose alone is derived from it
   * @param baseUrl without a trailing slash; called each time, because a port may be known only
   * once the server listens
   */
  constructor(secret: string, baseUrl: () => string) {
    this.#key = createHmac('sha256', secret).update('artifact address').digest();
    this.#baseUrl = baseUrl;
  }

  /** Absolute. */
  urlOf(artifact: Artifact, expiresAtSeconds: number): string {
    const { kind, ownerId, file } = artifact;
    const signature = this.#sign(artifact, String(expiresAtSeconds));
    return kind === 'master'
      ? `${this.#baseUrl()}/master/${ownerId}/${signature}/${file}?expires=${expiresAtSeconds}`
      : `${this.#baseUrl()}/artifacts/${kind}/${ownerId}/${file}?expires=${expiresAtSeconds}&sig=${signature}`;
  }

  /**
   * @param expires and
   * @param signature as in the request
   * @throws KinoraError `forbidden` unless both are those of an unexpired URL of this file
   */
  check(artifact: Artifact, expires: unknown, signature: unknown, now: Date): void {
    const sent = Buffer.from(typeof signature === 'string' ? signature : '');
    const seconds = typeof expires === 'string' && UNIX_SECONDS.test(expires) ? expires : '0';
    const expected = Buffer.from(this.#sign(artifact, seconds));
    if (sent.length !== expected.length || !timingSafeEqual(sent, expected))
      throw new KinoraError('forbidden', { messages: ['Signature is invalid'] });
    if (Number(seconds) * 1000 <= now.getTime())
      throw new KinoraError('forbidden', { messages: ['Signature has expired'] });
  }

  #sign({ kind, ownerId, version, file }: Artifact, expires: string): string {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([kind, ownerId, version, file, expires]))
      .digest('base64url');
  }
}

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** The part of a viewer's token that a child URL must preserve. */
export interface Grant {
  /** The grant ends at this time, in Unix seconds. */
  readonly expiresAtSeconds: number;
  /** The signing key of the token: its removal ends the grant. */
  readonly keyId: string;
  readonly restrictionId?: string;
}

const SIGNATURE = /^([1-9]\d{0,15})\.([A-Za-z0-9]{1,64})\.([A-Za-z0-9]{0,64})\.([A-Za-z0-9_-]{22})$/;
/** 128 bits. */
const CODE_CHARACTERS = 22;
/**
 * All segments of a rendition share one signature, so this many concurrent viewers need no HMAC.
 * About 2 MB.
 */
const MAX_KNOWN = 5000;

/**
 * Signs the URLs in playlists. The secret belongs to the installation, so every server accepts
 * them.
 */
export class ChildSigner {
  readonly #key: Buffer;
  /** Verified signatures. Other modules decide whether the grants are still valid. */
  readonly #verified = new Map<
    string,
    { readonly playbackId: string; readonly child: string; readonly grant: Grant }
  >();

  constructor(installationSecret: string) {
    this.#key = Buffer.from(hkdfSync('sha256', installationSecret, '', 'signed playback addresses', 32));
  }

  /**
   * The signature of one child URL: `<expiry>.<key id>.<restriction id or nothing>.<code>`. The
   * code covers playback ID, child and grant. `child` says what the URL leads to, as any text that
   * its route can reproduce.
   */
  sign(playbackId: string, child: string, grant: Grant): string {
    const code = this.#codeOf(playbackId, child, grant);
    return [grant.expiresAtSeconds, grant.keyId, grant.restrictionId ?? '', code].join('.');
  }

  /** The grant of a signature for this child of this playback ID; undefined when it is invalid. */
  verify(playbackId: string, child: string, signature: string): Grant | undefined {
    const before = this.#verified.get(signature);
    if (before?.playbackId === playbackId && before.child === child) return before.grant;
    const [, expiry, keyId, restrictionId, code] = SIGNATURE.exec(signature) ?? [];
    if (!expiry || !keyId || !code) return undefined;
    const grant = { expiresAtSeconds: Number(expiry), keyId, restrictionId: restrictionId || undefined };
    if (!timingSafeEqual(Buffer.from(this.#codeOf(playbackId, child, grant)), Buffer.from(code))) return undefined;
    this.#verified.set(signature, { playbackId, child, grant });
    if (this.#verified.size > MAX_KNOWN) this.#verified.delete(this.#verified.keys().next().value!);
    return grant;
  }

  #codeOf(playbackId: string, child: string, { expiresAtSeconds, keyId, restrictionId }: Grant): string {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([playbackId, child, expiresAtSeconds, keyId, restrictionId ?? '']))
      .digest('base64url')
      .slice(0, CODE_CHARACTERS);
  }
}

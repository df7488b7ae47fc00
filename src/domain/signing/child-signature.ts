import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** What a viewer's token allows, as far as it must be known again when only an address is left of it. */
export interface Grant {
  /** Unix seconds from which on nothing is allowed any more. */
  readonly expiresAtSeconds: number;
  /** The signing key of the token: its removal ends the grant. */
  readonly keyId: string;
  readonly restrictionId?: string;
}

/** Signs the addresses that playlists name. The secret is the installation's, so that every server accepts them. */
export interface ChildSigner {
  /**
   * The signature of one child address: `<expiry>.<key id>.<restriction id or nothing>.<code>`. The code covers playback
   * id, child and grant; `child` says what the address leads to, in any text that its route can tell again.
   */
  sign(playbackId: string, child: string, grant: Grant): string;
  /** The grant behind a signature of this child of this playback id; undefined when it is not one. */
  verify(playbackId: string, child: string, signature: string): Grant | undefined;
}

const SIGNATURE = /^([1-9]\d{0,15})\.([A-Za-z0-9]{1,64})\.([A-Za-z0-9]{0,64})\.([A-Za-z0-9_-]{22})$/;
/** 128 bits. */
const CODE_CHARACTERS = 22;
/** All segments of a rendition carry one signature: so many viewers at a time need no HMAC. Some 2 MB. */
const MAX_KNOWN = 5000;

export const createChildSigner = (installationSecret: string): ChildSigner => {
  const key = Buffer.from(hkdfSync('sha256', installationSecret, '', 'signed playback addresses', 32));

  const codeOf = (playbackId: string, child: string, { expiresAtSeconds, keyId, restrictionId }: Grant): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([playbackId, child, expiresAtSeconds, keyId, restrictionId ?? '']))
      .digest('base64url')
      .slice(0, CODE_CHARACTERS);

  /** Signatures that were found good. Whether they are still good for anything is not this module's business. */
  const known = new Map<string, { readonly playbackId: string; readonly child: string; readonly grant: Grant }>();

  return {
    sign: (playbackId, child, grant) =>
      [grant.expiresAtSeconds, grant.keyId, grant.restrictionId ?? '', codeOf(playbackId, child, grant)].join('.'),
    verify(playbackId, child, signature) {
      const before = known.get(signature);
      if (before?.playbackId === playbackId && before.child === child) return before.grant;
      const [, expiry, keyId, restrictionId, code] = SIGNATURE.exec(signature) ?? [];
      if (!expiry || !keyId || !code) return undefined;
      const grant = { expiresAtSeconds: Number(expiry), keyId, ...(restrictionId && { restrictionId }) };
      if (!timingSafeEqual(Buffer.from(codeOf(playbackId, child, grant)), Buffer.from(code))) return undefined;
      known.set(signature, { playbackId, child, grant });
      if (known.size > MAX_KNOWN) known.delete(known.keys().next().value!);
      return grant;
    },
  };
};

import { unixSeconds } from '../wire.js';

export interface SigningKeyRecord {
  readonly id: string;
  readonly created_at: Date;
}

/** `privateKeyPem` is given only for the answer to the creation; it is written as the base64 of the PEM text. */
export const serializeSigningKey = ({ id, created_at }: SigningKeyRecord, privateKeyPem?: string) => ({
  id,
  created_at: unixSeconds(created_at),
  ...(privateKeyPem !== undefined && { private_key: Buffer.from(privateKeyPem).toString('base64') }),
});

export interface PlaybackRestrictionRecord {
  readonly id: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly referrer: { readonly allowed_domains: readonly string[]; readonly allow_no_referrer: boolean };
  readonly user_agent: { readonly allow_no_user_agent: boolean; readonly allow_high_risk_user_agent: boolean };
}

export const serializePlaybackRestriction = (restriction: PlaybackRestrictionRecord) => ({
  id: restriction.id,
  created_at: unixSeconds(restriction.created_at),
  updated_at: unixSeconds(restriction.updated_at),
  // Written field by field, because the database does not keep the order of JSON keys.
  referrer: {
    allowed_domains: restriction.referrer.allowed_domains,
    allow_no_referrer: restriction.referrer.allow_no_referrer,
  },
  user_agent: {
    allow_no_user_agent: restriction.user_agent.allow_no_user_agent,
    allow_high_risk_user_agent: restriction.user_agent.allow_high_risk_user_agent,
  },
});

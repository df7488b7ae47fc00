import { Type } from 'typebox';
import { ReferrerRulesResponse, UserAgentRules } from '../schemas/playback-restriction.js';
import { id, unixSeconds } from '../schemas/response.js';
import { unixSeconds as unixText } from '../wire.js';

export const SigningKeyResponse = Type.Object(
  {
    id: id('Unique ID of the key. Put it into the `kid` of tokens'),
    created_at: unixSeconds('When the key was created'),
  },
  { title: 'SigningKey', description: 'A key that signs playback tokens. The server keeps only its public half' },
);

export const NewSigningKeyResponse = Type.Object(
  {
    ...SigningKeyResponse.properties,
    private_key: Type.String({
      description:
        'The private key: a PEM file (PKCS #1) of a 2048-bit RSA key, encoded in base64. Returned only in this response, so store it now',
    }),
  },
  { title: 'NewSigningKey', description: 'A signing key with its private half' },
);

export interface SigningKeyRecord {
  readonly id: string;
  readonly created_at: Date;
}

/**
 * `privateKeyPem` is given only for the answer to the creation; it is written as the base64 of the
 * PEM text.
 */
export const serializeSigningKey = ({ id, created_at }: SigningKeyRecord, privateKeyPem?: string) => ({
  id,
  created_at: unixText(created_at),
  ...(privateKeyPem !== undefined && { private_key: Buffer.from(privateKeyPem).toString('base64') }),
});

export const PlaybackRestrictionResponse = Type.Object(
  {
    id: id('Unique ID of the restriction. Put it into tokens as `playback_restriction_id`'),
    created_at: unixSeconds('When the restriction was created'),
    updated_at: unixSeconds('When its rules last changed'),
    referrer: ReferrerRulesResponse,
    user_agent: Type.Object(UserAgentRules.properties, {
      description: 'Rules for the program that sends a request',
    }),
  },
  {
    title: 'PlaybackRestriction',
    description:
      'Rules for the sites and programs that may play with a signed token. A token names at most one of them',
  },
);

export interface PlaybackRestrictionRecord {
  readonly id: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly referrer: { readonly allowed_domains: readonly string[]; readonly allow_no_referrer: boolean };
  readonly user_agent: { readonly allow_no_user_agent: boolean; readonly allow_high_risk_user_agent: boolean };
}

export const serializePlaybackRestriction = (restriction: PlaybackRestrictionRecord) => ({
  id: restriction.id,
  created_at: unixText(restriction.created_at),
  updated_at: unixText(restriction.updated_at),
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

export const DrmConfigurationResponse = Type.Object(
  { id: id('Unique ID of the configuration. Use it as `drm_configuration_id`') },
  { title: 'DrmConfiguration', description: 'A source of keys and licenses, created by the operator of the server' },
);

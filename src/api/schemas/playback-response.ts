import { Type } from 'typebox';
import { ReferrerRulesResponse, UserAgentRules } from './playback-restriction.js';
import { id, unixSeconds } from './response.js';

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

export const DrmConfigurationResponse = Type.Object(
  { id: id('Unique ID of the configuration. Use it as `drm_configuration_id`') },
  { title: 'DrmConfiguration', description: 'A source of keys and licenses, created by the operator of the server' },
);

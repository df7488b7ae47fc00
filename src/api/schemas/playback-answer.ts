import { Type } from 'typebox';
import { id, unixSeconds } from './answer.js';

export const SigningKeyAnswer = Type.Object({ id: id(), created_at: unixSeconds() }, { title: 'SigningKey' });

export const NewSigningKeyAnswer = Type.Object(
  {
    ...SigningKeyAnswer.properties,
    private_key: Type.String({ description: 'base64-encoded PEM (PKCS #1); returned only once' }),
  },
  { title: 'NewSigningKey' },
);

export const PlaybackRestrictionAnswer = Type.Object(
  {
    id: id(),
    created_at: unixSeconds(),
    updated_at: unixSeconds(),
    referrer: Type.Object({ allowed_domains: Type.Array(Type.String()), allow_no_referrer: Type.Boolean() }),
    user_agent: Type.Object({ allow_no_user_agent: Type.Boolean(), allow_high_risk_user_agent: Type.Boolean() }),
  },
  { title: 'PlaybackRestriction' },
);

export const DrmConfigurationAnswer = Type.Object({ id: id() }, { title: 'DrmConfiguration' });

import { type Static, Type } from 'typebox';

const MAX_ALLOWED_DOMAINS = 10;

/** Body of PUT …/referrer. */
export const ReferrerRules = Type.Object({
  allowed_domains: Type.Array(Type.String({ format: 'domain-pattern' }), {
    maxItems: MAX_ALLOWED_DOMAINS,
    'x-items': 'domains',
  }),
  allow_no_referrer: Type.Optional(Type.Boolean({ default: false })),
});

/** Body of PUT …/user_agent. */
export const UserAgentRules = Type.Object({
  allow_no_user_agent: Type.Boolean(),
  allow_high_risk_user_agent: Type.Boolean(),
});

/** Body of POST /video/v1/playback-restrictions. */
export const CreatePlaybackRestrictionBody = Type.Object({
  referrer: ReferrerRules,
  user_agent: Type.Optional(
    Type.Object({
      allow_no_user_agent: Type.Optional(Type.Boolean({ default: true })),
      allow_high_risk_user_agent: Type.Optional(Type.Boolean({ default: true })),
    }),
  ),
});
export type CreatePlaybackRestrictionBody = Static<typeof CreatePlaybackRestrictionBody>;

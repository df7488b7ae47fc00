import { type Static, Type } from 'typebox';

const MAX_ALLOWED_DOMAINS = 10;

const DOMAINS =
  'Sites that may embed the video, at most 10. `*.example.com` allows every subdomain, and `*` alone allows every site. An empty list allows none';
const NO_REFERRER = 'Whether requests without a `Referer` header may play. Native apps usually send none';
const NO_USER_AGENT = 'Whether requests without a `User-Agent` header may play';
const HIGH_RISK = 'Whether user agents that the server lists as risky, such as download programs, may play';

/** Body of PUT …/referrer. */
export const ReferrerRules = Type.Object({
  allowed_domains: Type.Array(Type.String({ format: 'domain-pattern' }), {
    maxItems: MAX_ALLOWED_DOMAINS,
    'x-items': 'domains',
    description: DOMAINS,
  }),
  allow_no_referrer: Type.Optional(Type.Boolean({ default: false, description: NO_REFERRER })),
});

/** Body of PUT …/user_agent. */
export const UserAgentRules = Type.Object({
  allow_no_user_agent: Type.Boolean({ description: NO_USER_AGENT }),
  allow_high_risk_user_agent: Type.Boolean({ description: HIGH_RISK }),
});

/** The referrer rules of a response. */
export const ReferrerRulesResponse = Type.Object(
  {
    allowed_domains: Type.Array(Type.String(), { description: DOMAINS }),
    allow_no_referrer: Type.Boolean({ description: NO_REFERRER }),
  },
  { description: 'Rules for the site that a request comes from' },
);

/** Body of POST /video/v1/playback-restrictions. */
export const CreatePlaybackRestrictionBody = Type.Object({
  referrer: Type.Object(ReferrerRules.properties, { description: 'Rules for the site that a request comes from' }),
  user_agent: Type.Optional(
    Type.Object(
      {
        allow_no_user_agent: Type.Optional(Type.Boolean({ default: true, description: NO_USER_AGENT })),
        allow_high_risk_user_agent: Type.Optional(Type.Boolean({ default: true, description: HIGH_RISK })),
      },
      { description: 'Rules for the program that sends a request. When absent, every program is allowed' },
    ),
  ),
});
export type CreatePlaybackRestrictionBody = Static<typeof CreatePlaybackRestrictionBody>;

import type { Row } from '../../db/schema.js';

/** The viewers that a restriction allows. */
export type RestrictionRules = Pick<Row<'playback_restriction'>, 'referrer' | 'user_agent'>;

/** The headers that a restriction checks, as sent. */
export interface ViewerHeaders {
  readonly referer?: string | undefined;
  readonly origin?: string | undefined;
  readonly userAgent?: string | undefined;
}

/** True when the rules forbid this viewer. `riskyUserAgents` are lower-case parts of names. */
export const isRestricted = (
  { referrer, user_agent: userAgent }: RestrictionRules,
  viewer: ViewerHeaders,
  riskyUserAgents: readonly string[],
): boolean => {
  // A page that hides its URL still sends its origin when it plays through scripts.
  const page = viewer.referer || viewer.origin;
  if (page ? !isAllowedPage(page, referrer.allowed_domains) : !referrer.allow_no_referrer) return true;
  const name = viewer.userAgent?.toLowerCase();
  if (!name) return !userAgent.allow_no_user_agent;
  return !userAgent.allow_high_risk_user_agent && riskyUserAgents.some((part) => name.includes(part));
};

const isAllowedPage = (page: string, domains: readonly string[]): boolean => {
  if (domains.includes('*')) return true;
  // A page without a valid URL (`Origin: null`, other text) matches no allowed domain.
  const host = URL.canParse(page) ? new URL(page).hostname.toLowerCase() : '';
  return domains
    .map((domain) => domain.toLowerCase())
    .some((domain) =>
      domain.startsWith('*.') ? host.endsWith(domain.slice(1)) && host !== domain.slice(1) : host === domain,
    );
};

import { describe, expect, test } from 'vitest';
import { isRestricted, type ViewerHeaders } from './is-restricted.js';

const RISKY = ['curl', 'lavf', 'yt-dlp'];
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64)';

const judge = (
  viewer: ViewerHeaders,
  domains: string[],
  { noReferrer = false, noUserAgent = true, risky = true } = {},
): string =>
  isRestricted(
    {
      referrer: { allowed_domains: domains, allow_no_referrer: noReferrer },
      user_agent: { allow_no_user_agent: noUserAgent, allow_high_risk_user_agent: risky },
    },
    viewer,
    RISKY,
  )
    ? 'denied'
    : 'allowed';

describe('the page', () => {
  test.each<[string | undefined, string[], string]>([
    ['https://foo.com/watch?x=1', ['foo.com'], 'allowed'],
    ['https://FOO.com/', ['foo.COM'], 'allowed'],
    ['http://foo.com:8443/a', ['foo.com'], 'allowed'],
    ['https://www.foo.com/', ['foo.com'], 'denied'],
    ['https://foo.com.evil.com/', ['foo.com'], 'denied'],
    ['https://evil.com/foo.com', ['foo.com'], 'denied'],
    ['https://foo.com@evil.com/', ['foo.com'], 'denied'],
    ['https://a.example.com/', ['*.example.com'], 'allowed'],
    ['https://a.b.example.com/', ['*.EXAMPLE.com'], 'allowed'],
    ['https://example.com/', ['*.example.com'], 'denied'],
    ['https://notexample.com/', ['*.example.com'], 'denied'],
    ['https://example.com/', ['*.example.com', 'example.com'], 'allowed'],
    ['https://foo.com/', [], 'denied'],
    ['https://foo.com/', ['*'], 'allowed'],
    ['https://foo.com/', ['bar.com', '*'], 'allowed'],
    ['no address', ['foo.com'], 'denied'],
    ['no address', ['*'], 'allowed'],
  ])('%s with %j is %s', (referer, domains, expected) => {
    expect(judge({ referer, userAgent: BROWSER }, domains)).toBe(expected);
    expect(judge({ referer, userAgent: BROWSER }, domains, { noReferrer: true })).toBe(expected);
  });

  test.each<[ViewerHeaders, boolean, string]>([
    [{}, false, 'denied'],
    [{}, true, 'allowed'],
    [{ referer: '' }, true, 'allowed'],
    [{ referer: '' }, false, 'denied'],
    [{ origin: 'https://foo.com' }, false, 'allowed'],
    [{ origin: 'https://bar.com' }, true, 'denied'],
    [{ origin: 'null' }, true, 'denied'],
    [{ referer: 'https://bar.com/', origin: 'https://foo.com' }, true, 'denied'],
  ])('%j where none is allowed: %s', (viewer, noReferrer, expected) => {
    expect(judge({ ...viewer, userAgent: BROWSER }, ['foo.com'], { noReferrer })).toBe(expected);
  });
});

describe('the program', () => {
  test.each<[string | undefined, { noUserAgent?: boolean; risky?: boolean }, string]>([
    [undefined, { noUserAgent: true, risky: false }, 'allowed'],
    [undefined, { noUserAgent: false }, 'denied'],
    ['', { noUserAgent: false }, 'denied'],
    ['curl/8.5.0', { risky: false }, 'denied'],
    ['CURL/8.5.0', { risky: false }, 'denied'],
    ['curl/8.5.0', { risky: true, noUserAgent: false }, 'allowed'],
    ['Lavf/60.16.100', { risky: false }, 'denied'],
    ['wget', { risky: false }, 'allowed'],
    [BROWSER, { risky: false, noUserAgent: false }, 'allowed'],
  ])('%s with %j is %s', (userAgent, rules, expected) => {
    expect(judge({ referer: 'https://foo.com/', userAgent }, ['*'], rules)).toBe(expected);
  });
});

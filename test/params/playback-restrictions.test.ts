import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError, NOT_FOUND } from '../support/wire/expect-error.js';

let api: Api;
let path: string;
const COLLECTION = '/video/v1/playback-restrictions';
const VALID = { referrer: { allowed_domains: ['*.example.com', 'example.com'] } };
beforeAll(async () => {
  api = await startApi();
  path = `${COLLECTION}/${(await (await api.call('POST', COLLECTION, VALID)).json()).data.id}`;
});
afterAll(() => api?.stop());

const eleven = Array.from({ length: 11 }, (_, at) => `d${at}.example.com`);
const BAD_DOMAINS: [string, unknown][] = [
  ['an empty text', ''],
  ['an address', 'https://example.com'],
  ['a path', 'example.com/a'],
  ['a port', 'example.com:443'],
  ['a star inside', 'a.*.example.com'],
  ['a star without a dot', '*example.com'],
  ['a star and nothing', '*.'],
  ['a blank', 'example .com'],
  ['an end of line', 'example.com\n'],
  ['two dots', 'example..com'],
  ['a dot at the end', 'example.com.'],
  ['a label that begins with a hyphen', '-a.example.com'],
  ['a label of 64', `${'a'.repeat(64)}.com`],
  ['a name of 254', `${'a.'.repeat(126)}aa`],
  ['letters that DNS writes otherwise', 'münchen.example'],
];

describe('POST /video/v1/playback-restrictions refuses', () => {
  it.each<[string, unknown, string[]]>([
    ['no body', undefined, ['referrer is required']],
    ['a list', [], ['Request body must be a JSON object']],
    ['no referrer', { user_agent: {} }, ['referrer is required']],
    ['a null referrer', { referrer: null }, ['referrer is required']],
    ['a referrer that is a text', { referrer: 'example.com' }, ['referrer must be an object']],
    ['no domains', { referrer: {} }, ['referrer.allowed_domains is required']],
    ['domains as a text', { referrer: { allowed_domains: '*' } }, ['referrer.allowed_domains must be an array']],
    [
      'eleven domains',
      { referrer: { allowed_domains: eleven } },
      ['referrer.allowed_domains must contain at most 10 domains'],
    ],
    [
      'a domain that is a number',
      { referrer: { allowed_domains: [7] } },
      ['referrer.allowed_domains[0] must be a string'],
    ],
    [
      'every problem in the order of the body',
      { user_agent: { allow_no_user_agent: 'yes' }, referrer: { allow_no_referrer: 1, allowed_domains: ['*', '!'] } },
      [
        'user_agent.allow_no_user_agent must be a boolean',
        'referrer.allow_no_referrer must be a boolean',
        'referrer.allowed_domains[1] is not a valid domain',
      ],
    ],
    ['a user agent that is a list', { ...VALID, user_agent: [] }, ['user_agent must be an object']],
    [
      'a high-risk flag that is a text',
      { ...VALID, user_agent: { allow_high_risk_user_agent: 'true' } },
      ['user_agent.allow_high_risk_user_agent must be a boolean'],
    ],
  ])('%s', async (_, body, messages) => {
    await expectError(await api.call('POST', COLLECTION, body), 400, 'invalid_parameters', messages);
  });

  it.each(BAD_DOMAINS)('for a domain %s', async (_, domain) => {
    const body = { referrer: { allowed_domains: ['a.example.com', domain] } };
    const message = 'referrer.allowed_domains[1] is not a valid domain';
    await expectError(await api.call('POST', COLLECTION, body), 400, 'invalid_parameters', [message]);
  });
});

describe('PUT refuses', () => {
  it.each<[string, string, unknown, string[]]>([
    ['referrer', 'no body', undefined, ['allowed_domains is required']],
    ['referrer', 'the whole resource', VALID, ['allowed_domains is required']],
    ['referrer', 'eleven domains', { allowed_domains: eleven }, ['allowed_domains must contain at most 10 domains']],
    ['referrer', 'a bad domain', { allowed_domains: ['*.'] }, ['allowed_domains[0] is not a valid domain']],
    [
      'referrer',
      'a flag that is a number',
      { allowed_domains: [], allow_no_referrer: 0 },
      ['allow_no_referrer must be a boolean'],
    ],
    ['user_agent', 'no body', undefined, ['allow_no_user_agent is required', 'allow_high_risk_user_agent is required']],
    ['user_agent', 'one field alone', { allow_high_risk_user_agent: true }, ['allow_no_user_agent is required']],
    [
      'user_agent',
      'a flag that is a text',
      { allow_no_user_agent: 'false', allow_high_risk_user_agent: true },
      ['allow_no_user_agent must be a boolean'],
    ],
    ['user_agent', 'a list', [], ['Request body must be a JSON object']],
  ])('%s: %s', async (part, _, body, messages) => {
    await expectError(await api.call('PUT', `${path}/${part}`, body), 400, 'invalid_parameters', messages);
  });

  it('unknown ids before it looks at the body', async () => {
    for (const id of ['A'.repeat(40), 'x']) {
      for (const part of ['referrer', 'user_agent']) {
        await expectError(await api.call('PUT', `${COLLECTION}/${id}/${part}`, {}), 404, 'not_found', [NOT_FOUND]);
      }
      await expectError(await api.call('GET', `${COLLECTION}/${id}`), 404, 'not_found', [NOT_FOUND]);
      await expectError(await api.call('DELETE', `${COLLECTION}/${id}`), 404, 'not_found', [NOT_FOUND]);
    }
  });
});

it.each([
  ['limit', '0', 'limit must be a positive integer'],
  ['limit', 'x', 'limit must be a positive integer'],
  ['page', '-1', 'page must be a positive integer'],
])('lists refuse %s=%s', async (name, value, message) => {
  for (const list of [COLLECTION, '/system/v1/signing-keys', '/video/v1/signing-keys']) {
    const response = await api.call('GET', `${list}?${name}=${value}`);
    await expectError(response, 400, 'invalid_parameters', [message]);
  }
});

it('takes what is valid, and answers with nothing left open', async () => {
  const create = async (body: object) => (await (await api.call('POST', COLLECTION, body)).json()).data;
  expect(await create(VALID)).toEqual({
    id: expect.stringMatching(/^[A-Za-z0-9]{40}$/),
    created_at: expect.stringMatching(/^\d{10}$/),
    updated_at: expect.stringMatching(/^\d{10}$/),
    referrer: { allowed_domains: VALID.referrer.allowed_domains, allow_no_referrer: false },
    user_agent: { allow_no_user_agent: true, allow_high_risk_user_agent: true },
  });
  for (const allowed_domains of [
    [],
    ['*'],
    ['*', 'a.b'],
    ['localhost', 'LOCALHOST'],
    eleven.slice(1),
    ['*.xn--a.co'],
  ]) {
    expect((await create({ referrer: { allowed_domains } })).referrer.allowed_domains).toEqual(allowed_domains);
  }
  const half = await create({ ...VALID, user_agent: { allow_high_risk_user_agent: false } });
  expect(half.user_agent).toEqual({ allow_no_user_agent: true, allow_high_risk_user_agent: false });
});
